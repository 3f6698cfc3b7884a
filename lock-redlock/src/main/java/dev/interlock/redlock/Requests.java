package dev.interlock.redlock;

import static dev.interlock.redis.server.ScriptCall.number;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.Script;
import dev.interlock.redis.server.ScriptCall;
import dev.interlock.redis.server.StoredClaim;
import dev.interlock.spi.Claim;
import java.time.Duration;
import java.util.List;

/** The requests to nodes for one operation on a claim. Leases do not keep this object. */
final class Requests {

  private static final byte[] NOT_WAITING = number(0);

  final Claim claim;
  final Entry entry;
  final Duration ttl;
  final Cluster cluster;
  final StoredClaim stored;
  private final byte[] fence;
  private final byte[] ttlMillis;
  private final byte[] retention;

  /**
   * Creates the requests of an operation.
   *
   * @param ttl the claim's effective TTL
   */
  Requests(Cluster cluster, RedlockSettings settings, Claim claim, Entry entry, Duration ttl) {
    this.cluster = cluster;
    this.claim = claim;
    this.entry = entry;
    this.ttl = ttl;
    this.stored = StoredClaim.of(claim, settings.namespace());
    this.fence = keys().fence();
    this.ttlMillis = number(ttl.toMillis());
    // The fence outlives the lease.
    this.retention = number(ttl.plus(settings.fenceRetention()).toMillis());
  }

  LockKeys keys() {
    return stored.keys();
  }

  /**
   * Asks for a vote. A waiter gets a place in the node's line, even if it is not notified of
   * releases yet.
   *
   * @param hint see {@link Hint}
   * @param waiter the id of this client in the node's line
   * @param waitedMillis the time for which the client has waited
   */
  ScriptCall acquire(byte[] run, byte[] hint, String waiter, long waitedMillis) {
    byte[] place = waiter.getBytes(UTF_8);
    byte[] waited = number(waitedMillis);
    if (stored.isExclusive()) {
      ScriptCall call =
          toNode(ask(NodeScripts.ACQUIRE, stored.identity()).with(ttlMillis, retention, hint), run);
      return stored.isInLine() ? call.with(place, stored.reservation(), waited) : call;
    }
    ScriptCall call = acquireShare(run, hint, stored.reservation());
    return stored.isInLine() ? call.with(place, waited) : call;
  }

  private ScriptCall acquireShare(byte[] run, byte[] hint, byte[] reservation) {
    ScriptCall call = ask(NodeScripts.SHARE_ACQUIRE, stored.identity());
    return toNode(call.with(ttlMillis, retention, reservation, hint), run);
  }

  ScriptCall confirm(byte[] run, byte[] token) {
    ScriptCall call =
        stored.isExclusive()
            ? ask(NodeScripts.CONFIRM, List.of(stored.owner()))
            : ask(NodeScripts.SHARE_CONFIRM, List.of(stored.owner(), id()));
    return toNode(call.with(token, retention), run);
  }

  /**
   * Asks for a renewal. To restore a share, the node votes once more, and the next renewal gives it
   * the token.
   *
   * @param restore whether to restore the lock on the node
   */
  ScriptCall renew(byte[] run, byte[] token, boolean restore) {
    List<byte[]> owner = List.of(stored.owner());
    if (stored.isExclusive()) {
      ScriptCall call = ask(NodeScripts.RENEW, owner).with(ttlMillis, token, retention);
      return toNode(call, run).with(number(restore ? 1 : 0));
    }
    if (restore) {
      return acquireShare(run, token, NOT_WAITING);
    }
    ScriptCall call = ask(NodeScripts.SHARE_RENEW, owner);
    return toNode(call.with(ttlMillis, retention, id(), token), run);
  }

  /** Withdraws a vote without publishing a message. */
  ScriptCall withdraw(Vote.Granted vote) {
    Script script = stored.isExclusive() ? NodeScripts.WITHDRAW : NodeScripts.SHARE_WITHDRAW;
    return new ScriptCall(script, List.of(keys().lock(), fence), stored.identity())
        .with(number(vote.fence()), number(vote.before()), retention);
  }

  /** Makes a call whose keys are the lock, its fence and the node's record. */
  private ScriptCall ask(Script script, List<byte[]> arguments) {
    return new ScriptCall(script, List.of(keys().lock(), fence, cluster.record()), arguments);
  }

  /** Adds the arguments that every node checks before it votes. */
  private ScriptCall toNode(ScriptCall call, byte[] run) {
    return call.with(run, cluster.maxTtlArgument(), cluster.nodeCountArgument());
  }

  private byte[] id() {
    return stored.id().getBytes(UTF_8);
  }
}
