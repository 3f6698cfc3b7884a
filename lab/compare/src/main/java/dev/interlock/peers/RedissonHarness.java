package dev.interlock.peers;

import dev.interlock.Capability;
import dev.interlock.tck.Server;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Redisson's locks. */
abstract class RedissonHarness extends PeerHarness {
  private final RedissonPeer.Kind kind;
  private final int servers;

  RedissonHarness(String name, RedissonPeer.Kind kind, int servers, Set<Capability> capabilities) {
    super(name, capabilities, Duration.ofMillis(100), Duration.ofMillis(20));
    this.kind = kind;
    this.servers = servers;
  }

  @Override
  String setUp() {
    return "Redisson "
        + Versions.of("redisson")
        + (servers == 1 ? " on one Redis" : " on " + servers + " independent Redis servers")
        + "; without a lease time, the watchdog renews the lock";
  }

  @Override
  Map<String, String> notOffered() {
    return ThreadOwned.RULES;
  }

  @Override
  Duration patience() {
    return Duration.ofSeconds(10);
  }

  @Override
  public Server start() {
    return RedisStore.start(servers, "");
  }

  @Override
  Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
    return new RedissonPeer(kind, addresses, terms, requestTimeout);
  }

  /** {@code RLock}. */
  static final class RLockHarness extends RedissonHarness {
    RLockHarness() {
      super("Redisson RLock", RedissonPeer.Kind.LOCK, 1, Set.of());
    }
  }

  /** {@code RFencedLock}. */
  static final class RFencedLockHarness extends RedissonHarness {
    RFencedLockHarness() {
      super("Redisson RFencedLock", RedissonPeer.Kind.FENCED, 1, Set.of(Capability.FENCING));
    }
  }

  /** {@code RedissonRedLock}. */
  static final class RedLockHarness extends RedissonHarness {
    RedLockHarness() {
      super("RedissonRedLock", RedissonPeer.Kind.RED, 3, Set.of(Capability.REPLICATED));
    }
  }
}
