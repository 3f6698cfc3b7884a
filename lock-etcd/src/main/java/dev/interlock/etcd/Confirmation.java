package dev.interlock.etcd;

import io.etcd.jetcd.Response;
import java.time.Duration;

/**
 * An answer from etcd that a lease was granted or kept alive, with its proof.
 *
 * <p>A lease is granted by consensus, so its whole time to live is certain under every leader: a
 * new leader restarts the time of all leases. But the leader keeps a lease alive on its own, and a
 * leader that was deposed without noticing does so as well (<a
 * href="https://github.com/etcd-io/etcd/issues/15247">etcd issue 15247</a>). The Raft terms in the
 * headers show which answers are valid:
 *
 * <ul>
 *   <li>The member that answers writes its term into the header <em>before</em> it forwards the
 *       request to the leader (see {@code LeaseKeepAlive} in etcd's {@code v3rpc/lease.go}). It has
 *       applied an entry of that term, so the leader that it knows has that term or a later one.
 *   <li>A linearizable read that is sent after that answer shows the term of the leader that a
 *       majority still follows, or a later one.
 * </ul>
 *
 * <p>If both terms are equal, the leader that kept the lease alive had not been deposed. If they
 * differ, the answer proves nothing.
 *
 * @param sentAt the time before the request was sent, from which the time to live counts
 * @param raftTerm the term in the header, or {@link #BY_CONSENSUS} if it was confirmed by consensus
 */
record Confirmation(long sentAt, long raftTerm) {

  static final long BY_CONSENSUS = 0;

  /** Whether the answer to a later linearizable request proves this confirmation. */
  boolean isProvenBy(Response later) {
    return raftTerm == BY_CONSENSUS || raftTerm == later.getHeader().getRaftTerm();
  }

  /**
   * The part of its time to live for which a lease is certain: all but a thousandth, which is twice
   * the fastest slewing of a clock, and one timer tick.
   */
  static Duration validityPerConfirmation(Duration timeToLive) {
    return timeToLive.minus(timeToLive.dividedBy(1000)).minusMillis(1);
  }
}
