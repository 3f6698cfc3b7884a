package dev.interlock.zookeeper;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Tells until when a session certainly lasts. The leader ends a session when it has not heard of
 * the client for the session's time-out.
 *
 * <p>Only committed writes prove anything. Pings do not: the connected server answers them on its
 * own, even when it has lost the leader, which may meanwhile end the session. A committed write
 * proves that its leader was the right one and that the session existed. It does not prove that
 * this leader had just heard of the client: a follower forwards the write at once, but reports the
 * client as alive only with its next answer to the leader's ping, twice in a tick. Two things show
 * since when the leader had heard of the client by then:
 *
 * <ul>
 *   <li>Heartbeats, which the leader answers itself. When it answers one that was sent a tick or
 *       more after the answer to an earlier one, it has heard of the client since the earlier one
 *       was sent, from the follower's ping answers. A write counts only if it was sent another tick
 *       later. That covers a leader that was suspended and sent no pings, and a follower that
 *       learned of the client while it was compiling its answer, and left it out.
 *   <li>A lost connection. A new one is accepted only after its server has asked the leader whether
 *       the session exists, and the leader counts that as a sign of life ({@code
 *       LeaderZooKeeperServer.checkIfValidGlobalSession} of ZooKeeper 3.9). A server that changes
 *       its leader closes all connections, so what is committed over this one is committed by the
 *       leader that was asked. The driver fails a request with a lost connection only when it has
 *       given up on that connection, so the next one is begun after the request was sent.
 * </ul>
 *
 * <p>The usual age of the leader's last contact is always subtracted, so that the validity after a
 * write does not depend on chance. After a fault it may be older, and less is certain.
 */
final class SessionCertainty {

  /** More heartbeats make the validity longer, and more work for the leader. */
  private static final int HEARTBEATS_PER_TIMEOUT = 15;

  private static final int URGENT_HEARTBEATS_PER_TICK = 4;
  private static final Duration MIN_PAUSE = Duration.ofMillis(20);
  private static final int MAX_HEARTBEATS = 64;

  private final TimeSource time;
  private final Supplier<Duration> timeout;
  private final Supplier<Duration> tick;
  private final ClockReading beginning;

  @GuardedBy("this")
  private final Deque<Heartbeat> heartbeats = new ArrayDeque<>();

  /** When the last request was sent that failed with its connection. */
  @GuardedBy("this")
  private ClockReading lostRequestSentAt;

  /** When that was noticed. */
  @GuardedBy("this")
  private long lossSeenAt;

  private volatile boolean connectionIsLost;
  private volatile ClockReading confirmedAt;
  private volatile Duration validity = Duration.ZERO;

  /** A heartbeat that the leader answered, and the earlier one that it had heard of by then. */
  private record Heartbeat(ClockReading sentAt, long answeredAt, ClockReading heardOf) {}

  /**
   * Starts with nothing certain.
   *
   * @param time the clock
   * @param timeout the session's time-out
   * @param tick the servers' tickTime, which may depend on the time-out
   * @param beginning a time before the session began
   */
  SessionCertainty(
      TimeSource time,
      Supplier<Duration> timeout,
      Supplier<Duration> tick,
      ClockReading beginning) {
    this.time = time;
    this.timeout = timeout;
    this.tick = tick;
    this.beginning = beginning;
    this.lostRequestSentAt = beginning;
    this.lossSeenAt = beginning.nanos();
    this.confirmedAt = ClockReading.longBefore(time);
  }

  // --- what happens ---------------------------------------------------------------------------

  /** The leader has answered a heartbeat. */
  void answered(ClockReading sentAt) {
    long now = time.nanoTime();
    synchronized (this) {
      connectionIsLost = false;
      heartbeats.addFirst(new Heartbeat(sentAt, now, latestBefore(sentAt.nanos()).sentAt()));
      if (heartbeats.size() > MAX_HEARTBEATS) {
        heartbeats.removeLast();
      }
    }
  }

  /** A heartbeat has failed because its connection was lost. */
  void connectionLost(ClockReading sentAt) {
    long now = time.nanoTime();
    synchronized (this) {
      connectionIsLost = true;
      lostRequestSentAt = sentAt;
      lossSeenAt = now;
    }
  }

  /**
   * Notes that a write which was sent at the given time has been committed.
   *
   * @return until when the session is certain now
   */
  @CanIgnoreReturnValue
  long confirm(long sentAt) {
    long counted = counted(sentAt);
    synchronized (this) {
      if (counted - confirmedAt() > 0) {
        confirmedAt = ClockReading.at(counted, time);
      }
    }
    return until();
  }

  // --- what follows ---------------------------------------------------------------------------

  /** Until when the session certainly lasts. */
  long until() {
    return confirmedAt() + validityPerConfirmation().toNanos();
  }

  /**
   * The time from which validity counts: when the last committed write was sent, or earlier if the
   * leader's last contact was older than usual.
   */
  long confirmedAt() {
    return confirmedAt.seenFromNow(time);
  }

  /**
   * How long a committed write proves the session, counted from its sending, while the leader hears
   * of the client as usual. A hundredth is subtracted for clocks that differ in speed.
   */
  Duration validityPerConfirmation() {
    Duration present = timeout.get().multipliedBy(99).dividedBy(100).minus(usualAge());
    // Every lease keeps it, so all share one object.
    Duration last = validity;
    if (present.equals(last)) {
      return last;
    }
    validity = present;
    return present;
  }

  /** The highest usual age of the leader's last contact when a write is sent. */
  private Duration usualAge() {
    return tick.get().plus(timeout.get().dividedBy(HEARTBEATS_PER_TIMEOUT)).multipliedBy(2);
  }

  private long counted(long sentAt) {
    long proven = contactBefore(sentAt).seenFromNow(time) + usualAge().toNanos();
    return proven - sentAt < 0 ? proven : sentAt;
  }

  /** The time since when the leader has certainly heard of the client if it commits this write. */
  private synchronized ClockReading contactBefore(long sentAt) {
    ClockReading heardOf = latestBefore(sentAt).heardOf();
    boolean asked = sentAt - lossSeenAt >= 0 && lostRequestSentAt.nanos() - heardOf.nanos() > 0;
    return asked ? lostRequestSentAt : heardOf;
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

  // --- heartbeats -----------------------------------------------------------------------------

  /** Whether a write that is sent now would make the session certain for most of the validity. */
  boolean hasContact() {
    long now = time.nanoTime();
    return now - counted(now) < validityPerConfirmation().toNanos() / 4;
  }

  /** The time until the next heartbeat. */
  Duration heartbeatPause() {
    if (connectionIsLost) {
      // The driver keeps it until its next attempt to connect, which this one will date.
      return MIN_PAUSE;
    }
    Duration usual = timeout.get().dividedBy(HEARTBEATS_PER_TIMEOUT);
    Duration urgent = tick.get().dividedBy(URGENT_HEARTBEATS_PER_TICK);
    Duration pause = hasContact() || usual.compareTo(urgent) < 0 ? usual : urgent;
    return pause.compareTo(MIN_PAUSE) < 0 ? MIN_PAUSE : pause;
  }

  /** Waits until it {@linkplain #hasContact has contact}; returns whether it has. */
  boolean awaitContact(WakeUp wakeUp, Deadline deadline, BooleanSupplier sessionHasEnded)
      throws InterruptedException {
    while (!hasContact() && !sessionHasEnded.getAsBoolean() && !deadline.hasPassed()) {
      wakeUp.await(deadline.orIn(heartbeatPause()));
    }
    return hasContact();
  }
}
