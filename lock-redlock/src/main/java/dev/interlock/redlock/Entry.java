package dev.interlock.redlock;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Claim;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** What a claim is on the nodes. */
final class Entry {

  final LockKeys keys;
  final byte[] value;

  /**
   * The process of each node on which the claim may have left something, when it was put there;
   * null of the other nodes, and empty if it is not known.
   */
  private final AtomicReferenceArray<@Nullable String> runs;

  private static final int THERE = 0;
  private static final int LACKING = 1;
  private static final int GIVEN = 2;

  /**
   * The nodes that had refused the lock, or had lost it when it was renewed last; and those that
   * were given it since, of which no majority has confirmed a renewal yet.
   */
  private final AtomicIntegerArray missing;

  /** What nodes have granted, as far as they have answered. */
  private final AtomicReferenceArray<Vote.@Nullable Granted> grants;

  /** Until when the lease is certain, as far as is known. */
  private volatile @Nullable Long certainUntil;

  /** Whether a lease may have come of it, so that others count on being told of its end. */
  private volatile boolean elected;

  /**
   * Whether a node was asked more than once, and so may be granted by a request that comes late.
   */
  private volatile boolean repeated;

  /** Given up: what has not been sent by now must not be. */
  private volatile boolean withdrawn;

  private Entry(LockKeys keys, byte[] value, int nodes) {
    this.keys = keys;
    this.value = value;
    this.runs = new AtomicReferenceArray<>(nodes);
    this.missing = new AtomicIntegerArray(nodes);
    this.grants = new AtomicReferenceArray<>(nodes);
  }

  /** The entry of a claim that has been nowhere yet. */
  static Entry fresh(Claim claim, String namespace, int nodes) {
    Entry entry =
        new Entry(
            LockKeys.of(namespace, claim.name()),
            (claim.id() + '|' + claim.holder()).getBytes(UTF_8),
            nodes);
    claim.attach(entry);
    return entry;
  }

  /** The entry of a claim that may have been everywhere. */
  static Entry of(Claim claim, String namespace, int nodes) {
    if (claim.attachment() instanceof Entry entry) {
      return entry;
    }
    Entry entry = fresh(claim, namespace, nodes);
    for (int node = 0; node < nodes; node++) {
      entry.runs.set(node, "");
    }
    entry.elected = true;
    return entry;
  }

  /**
   * Whether the claim may be put on the node now. First it counts as being there, then it is looked
   * whether it is still wanted: so either this sees the withdrawal, or that sees the touch.
   */
  boolean touch(int node, String run) {
    if (runs.getAndSet(node, run) != null) {
      repeated = true;
    }
    return !withdrawn;
  }

  /** From now on nothing more is put anywhere. */
  void withdraw() {
    withdrawn = true;
  }

  boolean mayBeOn(int node) {
    return runs.get(node) != null;
  }

  /**
   * Whether a node has been restarted, and may have forgotten the claim, since the claim was put
   * there. Says so once for each restart.
   */
  boolean mayBeForgottenBy(int node, String run) {
    String before = runs.getAndSet(node, run);
    return before != null && !before.isEmpty() && !before.equals(run);
  }

  void grantedBy(int node, Vote.Granted grant) {
    grants.set(node, grant);
  }

  /**
   * Returns the grant of a node that may be taken back without telling anybody, or null. Nobody
   * waits for the end of an attempt that was not elected and has the votes of a minority: attempts
   * that it was in the way of are repeated soon. If waiters were told, an attempt that finds the
   * lock busy on a majority would wake itself, and all others, by giving up the rest.
   *
   * <p>A vote that is in doubt may have been seen by others, so that its end is told. Nor is a
   * fence taken back that a copy of the request may raise to the same height again, after others.
   */
  Vote.@Nullable Granted quietlyLeaving(int node) {
    int known = 0;
    for (int each = 0; each < grants.length(); each++) {
      known += grants.get(each) == null ? 0 : 1;
    }
    return elected || repeated || known >= VoteCount.majorityOf(grants.length())
        ? null
        : grants.get(node);
  }

  void missingOn(int node, boolean is) {
    if (is) {
      missing.set(node, LACKING);
    } else {
      missing.compareAndSet(node, LACKING, GIVEN);
    }
  }

  /**
   * A majority has confirmed the election or a renewal.
   *
   * @param until the end of validity that follows
   */
  void confirmed(long until) {
    certainUntil = until;
    elected = true;
    for (int node = 0; node < missing.length(); node++) {
      missing.compareAndSet(node, GIVEN, THERE);
    }
  }

  /**
   * Whether the lock may be put on a node that does not have it: only while the lease is certain,
   * as nobody else can be elected then, and while a majority is not known to lack the lock; so a
   * lease that is lost never comes back. A node that was given the lock counts as lacking it until
   * a majority has renewed; or else a majority that lost it at once, and says so one by one, would
   * be given it one by one. A renewal that failed since does not matter: it may be that there is no
   * majority without this node.
   */
  boolean isToBeRestoredOn(int node, long now) {
    int lacking = 0;
    for (int each = 0; each < missing.length(); each++) {
      lacking += missing.get(each) == THERE ? 0 : 1;
    }
    Long until = certainUntil;
    return missing.get(node) == LACKING
        && lacking <= missing.length() - VoteCount.majorityOf(missing.length())
        && until != null
        && until - now > 0;
  }
}
