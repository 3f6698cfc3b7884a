package dev.interlock.peers;

import dev.interlock.Capability;
import dev.interlock.tck.Server;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Curator's {@code InterProcessMutex}, which promises the order of requests. */
final class CuratorHarness extends PeerHarness {

  CuratorHarness() {
    super(
        "Curator InterProcessMutex",
        Set.of(Capability.FIFO),
        ZooKeeperStore.TICK,
        ZooKeeperStore.TICK.multipliedBy(2));
  }

  @Override
  String setUp() {
    return "Curator "
        + Versions.of("curator-recipes")
        + " on one ZooKeeper; the session's time-out is the TTL, ExponentialBackoffRetry(1000, 3)";
  }

  @Override
  Map<String, String> notOffered() {
    Map<String, String> rules = new TreeMap<>(ThreadOwned.RULES);
    String paths = "a lock has a path that the program chooses, and the adapter encodes the name";
    rules.put("EXCL-02", paths);
    rules.put("API-03", paths);
    return rules;
  }

  @Override
  Duration patience() {
    return Duration.ofSeconds(15);
  }

  @Override
  public Server start() throws IOException {
    return ZooKeeperStore.start();
  }

  @Override
  Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) throws Exception {
    return new CuratorPeer(addresses, terms);
  }
}
