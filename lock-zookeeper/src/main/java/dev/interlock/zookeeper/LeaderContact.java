package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.function.Supplier;

/**
 * Tells until when the leader has certainly heard of a session. That the leader commits a write
 * does not prove that it has just heard of the client: a follower forwards the write at once, but
 * reports the client as alive only with its next answer to the leader's ping, twice in a tick.
 *
 * <p>So the session sends the leader heartbeats. When the leader answers a heartbeat that was sent
 * a tick or more after the answer to an earlier one, it has heard of the client since the earlier
 * one was sent: from the follower's ping answers, or, if the client changed servers meanwhile, from
 * the new server, which asked the leader whether the session exists. A write counts only if it was
 * sent another tick later. That covers two cases: a leader that was suspended and sent no pings,
 * and a follower that learned of the client while it was compiling its answer, and left it out.
 */
final class LeaderContact {

  private static final int KEPT = 64;

  private final Supplier<Duration> tick;
  private final ClockReading beginning;

  @GuardedBy("this")
  private final Deque<Heartbeat> heartbeats = new ArrayDeque<>();

  /** A heartbeat that the leader answered, and the earlier one that it had heard of by then. */
  private record Heartbeat(ClockReading sentAt, long answeredAt, ClockReading heardOf) {}

  /**
   * Starts without a heartbeat.
   *
   * @param tick the servers' tickTime, which may depend on the session's time-out
   * @param beginning a time before the session began
   */
  LeaderContact(Supplier<Duration> tick, ClockReading beginning) {
    this.tick = tick;
    this.beginning = beginning;
  }

  /** The leader has answered a heartbeat. */
  synchronized void answered(ClockReading sentAt, long answeredAt) {
    heartbeats.addFirst(new Heartbeat(sentAt, answeredAt, latestBefore(sentAt.nanos()).sentAt()));
    if (heartbeats.size() > KEPT) {
      heartbeats.removeLast();
    }
  }

  /** The time since when the leader has certainly heard of the client if it commits this write. */
  synchronized ClockReading provenByWrite(long sentAt) {
    return latestBefore(sentAt).heardOf();
  }

  @GuardedBy("this")
  private Heartbeat latestBefore(long sentAt) {
    long apart = tick.get().toNanos();
    for (Iterator<Heartbeat> latestFirst = heartbeats.iterator(); latestFirst.hasNext(); ) {
      Heartbeat heartbeat = latestFirst.next();
      if (sentAt - heartbeat.answeredAt() >= apart) {
        return heartbeat;
      }
    }
    return new Heartbeat(beginning, beginning.nanos(), beginning);
  }
}
