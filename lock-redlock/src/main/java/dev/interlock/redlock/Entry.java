package dev.interlock.redlock;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Claim;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What is known of a claim on the nodes. A lease keeps it, so it is small. */
final class Entry {

  /**
   * The process of each node that the claim may be on, when it was sent there; null for the other
   * nodes, and empty if it is unknown.
   */
  @GuardedBy("this")
  private final @Nullable String[] runs;

  private static final byte THERE = 0;
  private static final byte LACKING = 1;
  private static final byte GIVEN = 2;

  /**
   * The nodes that had refused the lock, or had lost it at the last renewal; and those that were
   * given it since, until a majority confirms a renewal.
   */
  @GuardedBy("this")
  private final byte[] missing;

  /**
   * The grants of nodes that have answered; null once it may have become a lease, for whose end
   * others wait.
   */
  @GuardedBy("this")
  private Vote.@Nullable Granted @Nullable [] grants;

  @GuardedBy("this")
  private boolean confirmed;

  /** The end of the confirmed validity. */
  @GuardedBy("this")
  private long certainUntil;

  /** Whether a node was sent the claim more than once, so that a late copy may still be granted. */
  @GuardedBy("this")
  private boolean repeated;

  /** Whether nodes may keep the lock without it, for the rest of its minimum hold. */
  @GuardedBy("this")
  private boolean deferred;

  /** Given up: nothing more must be sent. */
  @GuardedBy("this")
  private boolean withdrawn;

  private Entry(int nodes) {
    this.runs = new @Nullable String[nodes];
    this.missing = new byte[nodes];
    this.grants = new Vote.@Nullable Granted[nodes];
  }

  /** Returns the entry of a claim that is on no node yet. */
  static Entry fresh(Claim claim, int nodes) {
    Entry entry = new Entry(nodes);
    claim.attach(entry);
    return entry;
  }

  /** Returns the entry of a claim that may be on all nodes. */
  static Entry of(Claim claim, int nodes) {
    if (claim.attachment() instanceof Entry entry) {
      return entry;
    }
    Entry entry = new Entry(nodes);
    synchronized (entry) {
      Arrays.fill(entry.runs, "");
      entry.grants = null;
    }
    claim.attach(entry);
    return entry;
  }

  /**
   * Marks the claim as being on the node, and returns whether it may be sent there now. Either this
   * sees a withdrawal, or that sees the mark.
   */
  synchronized boolean touch(int node, String run) {
    repeated |= runs[node] != null;
    runs[node] = run;
    return !withdrawn;
  }

  /** Whether a node was sent something about the claim more than once. */
  synchronized boolean isRepeated() {
    return repeated;
  }

  /** Prevents that the claim is sent to any more nodes. */
  synchronized void withdraw() {
    withdrawn = true;
  }

  synchronized boolean isWithdrawn() {
    return withdrawn;
  }

  synchronized boolean mayBeOn(int node) {
    return runs[node] != null;
  }

  /**
   * Returns whether a node was restarted, and may have forgotten the claim, since the claim was
   * sent there. True once for each restart.
   */
  synchronized boolean mayBeForgottenBy(int node, String run) {
    String before = runs[node];
    runs[node] = run;
    return before != null && !before.isEmpty() && !before.equals(run);
  }

  synchronized void grantedBy(int node, Vote.Granted grant) {
    if (grants != null) {
      grants[node] = grant;
    }
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
  synchronized Vote.@Nullable Granted quietlyLeaving(int node) {
    if (grants == null || repeated) {
      return null;
    }
    long known = Arrays.stream(grants).filter(Objects::nonNull).count();
    return known >= VoteCount.majorityOf(grants.length) ? null : grants[node];
  }

  /** Notes that nodes are asked to keep the lock by themselves, where renewals find it no more. */
  synchronized void defer() {
    deferred = true;
  }

  synchronized void missingOn(int node, boolean is) {
    if (is && !deferred) {
      missing[node] = LACKING;
    } else if (!is && missing[node] == LACKING) {
      missing[node] = GIVEN;
    }
  }

  /** Whether the node is known not to count for the lease. */
  synchronized boolean lacks(int node) {
    return missing[node] == LACKING;
  }

  /**
   * Notes that a node was given its share of the lock again. If the lease was no longer certain
   * when the answer arrived, another claim may have been elected before: then the node never
   * counts.
   */
  synchronized void restoredOn(int node, long now) {
    missing[node] = isCertain(now) ? GIVEN : LACKING;
  }

  @GuardedBy("this")
  private boolean isCertain(long now) {
    return confirmed && certainUntil - now > 0;
  }

  /**
   * Notes that a majority has confirmed the election or a renewal.
   *
   * @param until the end of the validity
   */
  synchronized void confirmed(long until) {
    confirmed = true;
    certainUntil = until;
    grants = null;
    for (int node = 0; node < missing.length; node++) {
      if (missing[node] == GIVEN) {
        missing[node] = THERE;
      }
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
  synchronized boolean isToBeRestoredOn(int node, long now) {
    int lacking = 0;
    for (byte each : missing) {
      lacking += each == THERE ? 0 : 1;
    }
    return missing[node] == LACKING
        && lacking <= missing.length - VoteCount.majorityOf(missing.length)
        && isCertain(now);
  }
}
