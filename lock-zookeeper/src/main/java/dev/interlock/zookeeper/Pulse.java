package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;

/**
 * Since when the leader must have heard of a session. A write that it commits does not say so: a
 * follower passes a write on at once, and that its client lives only with its next answer to a ping
 * of the leader's, of which there are two in a tick.
 *
 * <p>So the leader is asked for something again and again: the beats. When it answers a beat that
 * was sent a tick after the answer to an earlier one, it has heard of the client since that earlier
 * one: from the follower's pings; or, if the client was connected to another server in between,
 * from that one, which asked whether there is such a session. A write counts only if it was sent
 * another tick later. Two errors are forgiven by that: a leader that stood still and did not ping,
 * and a follower that was told of a client just when it counted them, and forgot it.
 */
final class Pulse {

  private static final int KEPT = 64;

  private final long tick;
  private final Moment beginning;

  @GuardedBy("this")
  private final Deque<Beat> beats = new ArrayDeque<>();

  /** A beat that the leader answered, and the earlier one of which it had heard by then. */
  private record Beat(Moment sentAt, long answeredAt, Moment heardOf) {}

  /**
   * No beat yet.
   *
   * @param tick the servers' unit of time
   * @param beginning a time before which the session was not there
   */
  Pulse(Duration tick, Moment beginning) {
    this.tick = tick.toNanos();
    this.beginning = beginning;
  }

  /** The leader has answered a beat. */
  synchronized void beat(Moment sentAt, long answeredAt) {
    beats.addFirst(new Beat(sentAt, answeredAt, latestBefore(sentAt.nanos()).sentAt()));
    if (beats.size() > KEPT) {
      beats.removeLast();
    }
  }

  /** When that was sent of which the leader had heard when it committed a write sent then. */
  synchronized Moment heardBy(long sentAt) {
    return latestBefore(sentAt).heardOf();
  }

  @GuardedBy("this")
  private Beat latestBefore(long sentAt) {
    for (Iterator<Beat> latestFirst = beats.iterator(); latestFirst.hasNext(); ) {
      Beat beat = latestFirst.next();
      if (sentAt - beat.answeredAt() >= tick) {
        return beat;
      }
    }
    return new Beat(beginning, beginning.nanos(), beginning);
  }
}
