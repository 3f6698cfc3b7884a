package dev.interlock.redlock;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Claim;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The state of a claim on the nodes, as far as it is known. A lease keeps it, so it is small. */
final class Entry {

  /**
   * The process of each node to which the claim was sent; empty if it is unknown; null for a node
   * to which the claim was not sent.
   */
  @GuardedBy("this")
  private final @Nullable String[] runs;

  private static final byte HELD = 0;
  private static final byte LACKING = 1;
  private static final byte RESTORED = 2;

  /**
   * The state of each node. It is lacking if it refused the lock, or had lost it at the last
   * renewal. It is restored if it was given the lock since, until a majority confirms a renewal.
   */
  @GuardedBy("this")
  private final byte[] states;

  /**
   * The grants of the nodes; null once the claim may have become a lease, because others may then
   * wait for its end.
   */
  @GuardedBy("this")
  private Vote.@Nullable Granted @Nullable [] grants;

  @GuardedBy("this")
  private boolean confirmed;

  /** The end of the confirmed validity. */
  @GuardedBy("this")
  private long certainUntil;

  /** Whether a node was sent the claim more than once. A late copy may still be granted. */
  @GuardedBy("this")
  private boolean repeated;

  /** Whether nodes may keep the lock without the claim, for the rest of the minimum hold. */
  @GuardedBy("this")
  private boolean deferred;

  /** Whether the claim was withdrawn, so that it must not be sent any more. */
  @GuardedBy("this")
  private boolean withdrawn;

  private Entry(int nodes) {
    this.runs = new @Nullable String[nodes];
    this.states = new byte[nodes];
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
   * Records that the claim is sent to a node, and returns whether it may be sent. A withdrawal
   * either comes before, and this returns false, or comes later, and sees that the claim was sent.
   */
  synchronized boolean markSent(int node, String run) {
    repeated |= runs[node] != null;
    runs[node] = run;
    return !withdrawn;
  }

  /** Whether a node was sent the claim more than once. */
  synchronized boolean isRepeated() {
    return repeated;
  }

  /** Prevents that the claim is sent to more nodes. */
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
   * Returns whether a node was restarted since the claim was sent there, so that it may have
   * forgotten the claim. Returns true once for each restart.
   */
  synchronized boolean mayBeForgottenBy(int node, String run) {
    String before = runs[node];
    runs[node] = run;
    return before != null && !before.isEmpty() && !before.equals(run);
  }

  synchronized void recordGrant(int node, Vote.Granted grant) {
    if (grants != null) {
      grants[node] = grant;
    }
  }

  /**
   * Returns the grant of a node that may be withdrawn without a message to waiters, or null. Nobody
   * waits for the end of an attempt that was not elected and has a minority of the votes: attempts
   * that met it are repeated soon. With a message, an attempt that finds the lock busy on a
   * majority would wake itself and all others when it withdraws its other votes.
   *
   * <p>If a request was repeated, the end of the attempt is published: the vote is in doubt, and
   * other attempts may have seen it. The fence stays, too, because a late copy of the request may
   * raise it to the same height again, after those of others.
   */
  synchronized Vote.@Nullable Granted grantToWithdraw(int node) {
    if (grants == null || repeated) {
      return null;
    }
    long granted = Arrays.stream(grants).filter(Objects::nonNull).count();
    return granted >= VoteCount.majorityOf(grants.length) ? null : grants[node];
  }

  /** Returns whether the node has granted the claim, and is not known to have lost it since. */
  synchronized boolean isHeldBy(int node) {
    return grants == null ? !lacks(node) : grants[node] != null;
  }

  /** Records that nodes are asked to keep the lock without the claim, which renewals then miss. */
  synchronized void defer() {
    deferred = true;
  }

  synchronized void setLacking(int node, boolean isLacking) {
    if (isLacking && !deferred) {
      states[node] = LACKING;
    } else if (!isLacking && states[node] == LACKING) {
      states[node] = RESTORED;
    }
  }

  /** Whether the node is known to lack the lock, so that it does not count for the lease. */
  synchronized boolean lacks(int node) {
    return states[node] == LACKING;
  }

  /**
   * Records that a share was restored on a node. If the lease was not certain any more when the
   * answer arrived, another claim may have been elected before, and the node does not count.
   */
  synchronized void markRestored(int node, long now) {
    states[node] = isCertain(now) ? RESTORED : LACKING;
  }

  @GuardedBy("this")
  private boolean isCertain(long now) {
    return confirmed && certainUntil - now > 0;
  }

  /**
   * Records that a majority has confirmed the election or a renewal.
   *
   * @param until the end of the validity
   */
  synchronized void confirm(long until) {
    confirmed = true;
    certainUntil = until;
    grants = null;
    for (int node = 0; node < states.length; node++) {
      if (states[node] == RESTORED) {
        states[node] = HELD;
      }
    }
  }

  /**
   * Returns whether to restore the lock on a node that lacks it. This is allowed only while the
   * lease is certain, because no other claim can be elected then, and while no majority is known to
   * lack the lock. So a lost lease never comes back. A restored node counts as lacking the lock
   * until a majority has renewed. Otherwise a majority that lost the lock at once, and reports it
   * one by one, would get it back one by one. A failed renewal in between does not matter: there
   * may be no majority without this node.
   */
  synchronized boolean isToBeRestoredOn(int node, long now) {
    int lacking = 0;
    for (byte each : states) {
      lacking += each == HELD ? 0 : 1;
    }
    return states[node] == LACKING
        && lacking <= states.length - VoteCount.majorityOf(states.length)
        && isCertain(now);
  }
}
