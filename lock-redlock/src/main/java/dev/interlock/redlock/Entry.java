package dev.interlock.redlock;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Claim;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** A claim as it is on the nodes. */
final class Entry {

  final LockKeys keys;
  final Requests requests;

  /**
   * The process of each node that the claim may be on, when it was sent there; null for the other
   * nodes, and empty if it is unknown.
   */
  private final AtomicReferenceArray<@Nullable String> runs;

  private static final int THERE = 0;
  private static final int LACKING = 1;
  private static final int GIVEN = 2;

  /**
   * The nodes that had refused the lock, or had lost it at the last renewal; and those that were
   * given it since, until a majority confirms a renewal.
   */
  private final AtomicIntegerArray missing;

  /** The grants of nodes that have answered. */
  private final AtomicReferenceArray<Vote.@Nullable Granted> grants;

  /** The end of the confirmed validity. */
  private volatile @Nullable Long certainUntil;

  /** Whether it may have become a lease, for whose end others wait. */
  private volatile boolean elected;

  /** Whether a node was sent the claim more than once, so that a late copy may still be granted. */
  private volatile boolean repeated;

  /** Given up: nothing more must be sent. */
  private volatile boolean withdrawn;

  private Entry(LockKeys keys, Requests requests, int nodes) {
    this.keys = keys;
    this.requests = requests;
    this.runs = new AtomicReferenceArray<>(nodes);
    this.missing = new AtomicIntegerArray(nodes);
    this.grants = new AtomicReferenceArray<>(nodes);
  }

  /** Returns the entry of a claim that is on no node yet. */
  static Entry fresh(Claim claim, String namespace, int nodes) {
    LockKeys keys = LockKeys.of(namespace, claim.name());
    Entry entry = new Entry(keys, Requests.of(claim, keys), nodes);
    claim.attach(entry);
    return entry;
  }

  /** Returns the entry of a claim that may be on all nodes. */
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
   * Returns whether the claim may be sent to the node now. First marks it as being there, then
   * checks for a withdrawal: so either this sees the withdrawal, or that sees the mark.
   */
  boolean touch(int node, String run) {
    if (runs.getAndSet(node, run) != null) {
      repeated = true;
    }
    return !withdrawn;
  }

  /** Whether a node was sent something about the claim more than once. */
  boolean isRepeated() {
    return repeated;
  }

  /** Prevents that the claim is sent to any more nodes. */
  void withdraw() {
    withdrawn = true;
  }

  boolean isWithdrawn() {
    return withdrawn;
  }

  boolean mayBeOn(int node) {
    return runs.get(node) != null;
  }

  /**
   * Returns whether a node was restarted, and may have forgotten the claim, since the claim was
   * sent there. True once for each restart.
   */
  boolean mayBeForgottenBy(int node, String run) {
    String before = runs.getAndSet(node, run);
    return before != null && !before.isEmpty() && !before.equals(run);
  }

  void grantedBy(int node, Vote.Granted grant) {
    grants.set(node, grant);
  }

  /**
   * Returns the grant of a node that may be taken back without a message to waiters, or null. No
   * one waits for the end of an attempt that was not elected and has a minority of the votes:
   * attempts that met it are repeated soon. With a message, an attempt that finds the lock busy on
   * a majority would wake itself and all others by giving up the rest.
   *
   * <p>Other attempts may have seen a vote that is in doubt, so its end is published. Nor is a
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

  /** Whether the node is known not to count for the lease. */
  boolean lacks(int node) {
    return missing.get(node) == LACKING;
  }

  /**
   * Notes that a node was given its share of the lock again. If the lease was no longer certain
   * when the answer arrived, another claim may have been elected before: then the node never
   * counts.
   */
  void restoredOn(int node, long now) {
    missing.set(node, isCertain(now) ? GIVEN : LACKING);
  }

  private boolean isCertain(long now) {
    Long until = certainUntil;
    return until != null && until - now > 0;
  }

  /**
   * Notes that a majority has confirmed the election or a renewal.
   *
   * @param until the end of the validity
   */
  void confirmed(long until) {
    certainUntil = until;
    elected = true;
    for (int node = 0; node < missing.length(); node++) {
      missing.compareAndSet(node, GIVEN, THERE);
    }
  }

  /**
   * Returns whether to restore the lock on a node that lacks it: only while the lease is certain,
   * because no other claim can be elected then, and while no majority is known to lack the lock; so
   * a lost lease never comes back. A node that was given the lock counts as lacking it until a
   * majority has renewed. Otherwise a majority that lost it at once, and says so one by one, would
   * get it back one by one. A failed renewal in between does not matter: there may be no majority
   * without this node.
   */
  boolean isToBeRestoredOn(int node, long now) {
    int lacking = 0;
    for (int each = 0; each < missing.length(); each++) {
      lacking += missing.get(each) == THERE ? 0 : 1;
    }
    return missing.get(node) == LACKING
        && lacking <= missing.length() - VoteCount.majorityOf(missing.length())
        && isCertain(now);
  }
}
