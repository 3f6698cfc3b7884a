package dev.interlock.etcd;

import io.etcd.jetcd.Response;
import java.time.Duration;

/**
 * An answer of etcd's that a lease was granted or kept alive, and what it is worth.
 *
 * <p>A lease is granted through consensus, so its whole time to live is certain from then on, under
 * every leader: a new one starts all leases afresh. It is kept alive by the leader alone, without
 * asking the others, and one that was deposed and has not heard of it answers too (<a
 * href="https://github.com/etcd-io/etcd/issues/15247">etcd issue 15247</a>). Such an answer is told
 * from a good one by the terms in the headers:
 *
 * <ul>
 *   <li>The member that answers writes its term into the header <em>before</em> it passes the
 *       request to the leader (see {@code LeaseKeepAlive} in etcd's {@code v3rpc/lease.go}). It has
 *       applied an entry of that term, so the leader that it knows is of that term or a later one.
 *   <li>A linearizable read that is sent when that answer has come shows the term of the leader
 *       whom a majority still follows, or a later one.
 * </ul>
 *
 * <p>If both are the same term, nobody had deposed the leader that kept the lease alive. If they
 * differ, the answer proves nothing.
 *
 * @param sentAt the time before the request was sent, from which the time to live counts
 * @param raftTerm the term in the header, or {@link #ALWAYS} if it was confirmed by consensus
 */
record Confirmation(long sentAt, long raftTerm) {

  static final long ALWAYS = 0;

  /** Whether it is proved by a linearizable answer to a request that was sent after it came. */
  boolean isProvedBy(Response later) {
    return raftTerm == ALWAYS || raftTerm == later.getHeader().getRaftTerm();
  }

  /**
   * For how much of its time to live a lease is certain: less a thousandth, twice what a clock is
   * slewed by at most, and one timer tick.
   */
  static Duration validityPerConfirmation(Duration timeToLive) {
    return timeToLive.minus(timeToLive.dividedBy(1000)).minusMillis(1);
  }
}
