package dev.interlock.redlock;

import static dev.interlock.redlock.Cluster.number;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.redis.server.ScriptCall;
import dev.interlock.LockConfigurationException;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.Script;
import dev.interlock.redis.server.StoredHold;
import dev.interlock.redis.server.StoredShare;
import dev.interlock.redis.server.StoredValue;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One operation on a claim, and what it asks of the nodes. Leases do not keep it. */
abstract class Requests {

  final Claim claim;
  final Entry entry;
  final Duration ttl;
  final LockKeys keys;

  /** The claim's id, which the claim renders each time that it is asked. */
  final String id;

  final byte[] fence;
  final byte[] ttlMillis;
  final byte[] retention;
  final Cluster cluster;

  private Requests(
      Cluster cluster, RedlockSettings settings, Claim claim, Entry entry, Duration ttl) {
    this.cluster = cluster;
    this.claim = claim;
    this.entry = entry;
    this.ttl = ttl;
    this.keys = LockKeys.of(settings.namespace(), claim.name());
    this.id = claim.id();
    this.fence = keys.fence();
    this.ttlMillis = number(ttl.toMillis());
    // The fence outlives the lease that counts on it.
    this.retention = number(ttl.plus(settings.fenceRetention()).toMillis());
  }

  /**
   * Begins an operation.
   *
   * @param ttl the claim's effective TTL
   */
  static Requests of(
      Cluster cluster, RedlockSettings settings, Claim claim, Entry entry, Duration ttl) {
    return claim.share().isExclusive()
        ? new Exclusive(cluster, settings, claim, entry, ttl)
        : new Shared(cluster, settings, claim, entry, ttl);
  }

  /**
   * Asks for a vote.
   *
   * @param hint see {@link Hint}
   * @param waiter the id of this client in the node's line
   * @param waitedMillis for how long the client has waited
   */
  abstract ScriptCall acquire(byte[] run, byte[] hint, String waiter, long waitedMillis);

  abstract ScriptCall confirm(byte[] run, byte[] token);

  /**
   * Asks for a renewal.
   *
   * @param restore whether to give the lock to the node if it lacks it
   */
  abstract ScriptCall renew(byte[] run, byte[] token, boolean restore);

  abstract ScriptCall release();

  /** Asks to keep the lock for a time without the claim. */
  abstract ScriptCall releaseAfter(byte[] delay, byte[] fenceRetention);

  /** Frees what is kept so. */
  abstract ScriptCall releaseDeferred();

  /** Takes back a vote, and publishes nothing. */
  abstract ScriptCall withdraw(Vote.Granted vote);

  /** Returns the label of who is in the way, from what a busy answer gives; null if it has none. */
  abstract @Nullable String holder(String stored);

  /** Returns the failure of the claim if the name is in use as another kind of lock, or null. */
  @Nullable LockConfigurationException disagreement(String found) {
    Share present = StoredShare.use(found);
    return present == null ? null : claim.share().disagreement(claim.name(), present);
  }

  /** For how long the claim is to be waited for, in milliseconds. */
  final byte[] reservation() {
    return number(claim.reservation().plusNanos(999_999).toMillis());
  }

  /** Asks about the lock, its fence and the node's record. */
  final ScriptCall ask(Script script, byte[]... arguments) {
    return new ScriptCall(script, List.of(keys.lock(), fence, cluster.record()), List.of(arguments));
  }

  /** Has the key to itself. */
  private static final class Exclusive extends Requests {
    private final byte[] value;

    Exclusive(Cluster cluster, RedlockSettings settings, Claim claim, Entry entry, Duration ttl) {
      super(cluster, settings, claim, entry, ttl);
      this.value = (id + '|' + claim.holder()).getBytes(UTF_8);
    }

    @Override
    ScriptCall acquire(byte[] run, byte[] hint, String waiter, long waitedMillis) {
      byte[] longest = cluster.longest();
      byte[] nodes = cluster.number();
      return claim.reservation().isZero()
          ? ask(NodeScripts.ACQUIRE, value, ttlMillis, retention, hint, run, longest, nodes)
          : ask(
              NodeScripts.ACQUIRE,
              value,
              ttlMillis,
              retention,
              hint,
              run,
              longest,
              nodes,
              waiter.getBytes(UTF_8),
              reservation(),
              number(waitedMillis));
    }

    @Override
    ScriptCall confirm(byte[] run, byte[] token) {
      return ask(
          NodeScripts.CONFIRM, value, token, retention, run, cluster.longest(), cluster.number());
    }

    @Override
    ScriptCall renew(byte[] run, byte[] token, boolean restore) {
      return ask(
          NodeScripts.RENEW,
          value,
          ttlMillis,
          token,
          retention,
          run,
          cluster.longest(),
          cluster.number(),
          number(restore ? 1 : 0));
    }

    @Override
    ScriptCall release() {
      return new ScriptCall(Script.RELEASE, List.of(keys.lock()), List.of(value));
    }

    @Override
    ScriptCall releaseAfter(byte[] delay, byte[] fenceRetention) {
      return new ScriptCall(
          Script.RELEASE_AFTER,
          List.of(keys.lock()),
          List.of(value, deferred(), delay, fenceRetention));
    }

    @Override
    ScriptCall releaseDeferred() {
      return new ScriptCall(Script.RELEASE, List.of(keys.lock()), List.of(deferred()));
    }

    private byte[] deferred() {
      return (claim.deferredId() + '|' + claim.holder()).getBytes(UTF_8);
    }

    @Override
    ScriptCall withdraw(Vote.Granted vote) {
      return new ScriptCall(
          NodeScripts.WITHDRAW,
          List.of(keys.lock(), fence),
          List.of(value, number(vote.fence()), number(vote.before()), retention));
    }

    @Override
    @Nullable String holder(String stored) {
      return stored.isEmpty() ? null : StoredValue.holder(stored);
    }
  }

  /** One of several holds. */
  private static final class Shared extends Requests {
    private static final byte[] NOT_WAITING = number(0);

    private final byte[] head;
    private final byte[] hold;
    private final byte[] idBytes;
    private final byte[] weight;
    private final byte[] capacity;
    private final byte[] reservation;

    Shared(Cluster cluster, RedlockSettings settings, Claim claim, Entry entry, Duration ttl) {
      super(cluster, settings, claim, entry, ttl);
      this.head = StoredShare.head(claim.share()).getBytes(UTF_8);
      this.hold = StoredShare.hold(claim).getBytes(UTF_8);
      this.idBytes = id.getBytes(UTF_8);
      this.weight = number(claim.share().weight());
      this.capacity = number(claim.share().capacity());
      this.reservation = reservation();
    }

    /** A waiter is remembered, whether or not a watch hears of releases yet. */
    @Override
    ScriptCall acquire(byte[] run, byte[] hint, String waiter, long waitedMillis) {
      return StoredShare.isInLine(claim)
          ? ask(
              NodeScripts.SHARE_ACQUIRE,
              head,
              hold,
              idBytes,
              weight,
              capacity,
              ttlMillis,
              retention,
              reservation,
              hint,
              run,
              cluster.longest(),
              cluster.number(),
              waiter.getBytes(UTF_8),
              number(waitedMillis))
          : acquire(run, hint, reservation);
    }

    private ScriptCall acquire(byte[] run, byte[] hint, byte[] waits) {
      return ask(
          NodeScripts.SHARE_ACQUIRE,
          head,
          hold,
          idBytes,
          weight,
          capacity,
          ttlMillis,
          retention,
          waits,
          hint,
          run,
          cluster.longest(),
          cluster.number());
    }

    @Override
    ScriptCall confirm(byte[] run, byte[] token) {
      return ask(
          NodeScripts.SHARE_CONFIRM,
          hold,
          idBytes,
          token,
          retention,
          run,
          cluster.longest(),
          cluster.number());
    }

    /** A node that lacks the share votes once more; the next renewal gives it the token. */
    @Override
    ScriptCall renew(byte[] run, byte[] token, boolean restore) {
      return restore
          ? acquire(run, token, NOT_WAITING)
          : ask(
              NodeScripts.SHARE_RENEW,
              hold,
              ttlMillis,
              retention,
              idBytes,
              token,
              run,
              cluster.longest(),
              cluster.number());
    }

    @Override
    ScriptCall release() {
      return new ScriptCall(
          Script.SHARE_RELEASE,
          List.of(keys.lock()),
          List.of(head, hold, idBytes, weight, capacity));
    }

    @Override
    ScriptCall releaseDeferred() {
      return new ScriptCall(
          Script.SHARE_RELEASE,
          List.of(keys.lock()),
          List.of(
              head,
              StoredShare.deferredHold(claim).getBytes(UTF_8),
              claim.deferredId().getBytes(UTF_8),
              weight,
              capacity));
    }

    @Override
    ScriptCall releaseAfter(byte[] delay, byte[] fenceRetention) {
      return new ScriptCall(
          Script.SHARE_RELEASE_AFTER,
          List.of(keys.lock()),
          List.of(
              hold,
              idBytes,
              StoredShare.deferredHold(claim).getBytes(UTF_8),
              claim.deferredId().getBytes(UTF_8),
              delay,
              fenceRetention));
    }

    @Override
    ScriptCall withdraw(Vote.Granted vote) {
      return new ScriptCall(
          NodeScripts.SHARE_WITHDRAW,
          List.of(keys.lock(), fence),
          List.of(
              head,
              hold,
              idBytes,
              weight,
              capacity,
              number(vote.fence()),
              number(vote.before()),
              retention));
    }

    @Override
    @Nullable String holder(String stored) {
      StoredHold present = StoredHold.read(stored);
      return present == null ? null : present.holder();
    }
  }
}
