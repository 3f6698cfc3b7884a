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
 * Computes until when a session is certain to last. The leader ends a session when it has not heard
 * of the client for the session's time-out.
 *
 * <p>Only committed writes prove anything. Pings do not: the connected server answers them on its
 * own, even when it has lost the leader, and the leader may meanwhile end the session. A committed
 * write proves that its leader was the right one and that the session existed. It does not prove
 * that this leader had just heard from the client: a follower forwards the write at once, but
 * reports the client as alive only with its next answer to the leader's ping, twice in a tick. Two
 * things show when the leader had last heard from the client:
 *
 * <ul>
 *   <li>Heartbeats, which the leader answers itself. When it answers one that was sent a tick or
 *       more after the answer to an earlier one, it has heard from the client, through the
 *       follower's ping answers, after the earlier one was sent. A write counts only if it was sent
 *       another tick later. The extra ticks cover a leader that was suspended and sent no pings,
 *       and a follower that heard from the client while it was compiling its answer and left the
 *       client out.
 *   <li>A lost connection. A new one is accepted only after its server has asked the leader whether
 *       the session exists, and the leader counts that as a sign of life ({@code
 *       LeaderZooKeeperServer.checkIfValidGlobalSession} of ZooKeeper 3.9). A server that changes
 *       its leader closes all connections, so what is committed over this one is committed by the
 *       leader that was asked. The driver fails a request with a lost connection only after it has
 *       closed that connection, so the next connection begins after the request was sent.
 * </ul>
 *
 * <p>The usual age of the leader's last contact is always subtracted, so that the validity after a
 * write does not depend on chance. After a fault the contact may be older, and the validity
 * shorter.
 */
final class SessionCertainty {

  /** More heartbeats lengthen the validity, and cost the leader more work. */
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

  /** The time at which the last request was sent that failed with its connection. */
  @GuardedBy("this")
  private ClockReading lostRequestSentAt;

  /** The time at which that failure was noticed. */
  @GuardedBy("this")
  private long lossNoticedAt;

  private volatile boolean connectionIsLost;
  private volatile ClockReading confirmedAt;
  private volatile Duration validity = Duration.ZERO;

  /**
   * A heartbeat that the leader answered, with the time of the client's sign of life that it knew
   * by then.
   */
  private record Heartbeat(ClockReading sentAt, long answeredAt, ClockReading heardOf) {}

  /**
   * Starts with no certainty.
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
    this.lossNoticedAt = beginning.nanos();
    this.confirmedAt = ClockReading.longBefore(time);
  }

  // --- events ---------------------------------------------------------------------------------

  void onHeartbeatReply(ClockReading sentAt) {
    long now = time.nanoTime();
    synchronized (this) {
      connectionIsLost = false;
      heartbeats.addFirst(new Heartbeat(sentAt, now, latestBefore(sentAt.nanos()).sentAt()));
      if (heartbeats.size() > MAX_HEARTBEATS) {
        heartbeats.removeLast();
      }
    }
  }

  /** Called when a heartbeat has failed because its connection was lost. */
  void onConnectionLoss(ClockReading sentAt) {
    long now = time.nanoTime();
    synchronized (this) {
      connectionIsLost = true;
      lostRequestSentAt = sentAt;
      lossNoticedAt = now;
    }
  }

  /**
   * Records that a write which was sent at the given time has been committed.
   *
   * @return until when the session is now certain to last
   */
  @CanIgnoreReturnValue
  long confirm(long sentAt) {
    long countsFrom = countsFrom(sentAt);
    synchronized (this) {
      if (countsFrom - confirmedAt() > 0) {
        confirmedAt = ClockReading.at(countsFrom, time);
      }
    }
    return until();
  }

  // --- conclusions ----------------------------------------------------------------------------

  /** The time until which the session is certain to last. */
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
   * The time for which a committed write proves the session, from its sending, while the leader
   * hears from the client as usual. Subtracts a hundredth for clocks that differ in speed.
   */
  Duration validityPerConfirmation() {
    Duration computed = timeout.get().multipliedBy(99).dividedBy(100).minus(usualAge());
    // Every lease keeps the value, so all share one object.
    Duration last = validity;
    if (computed.equals(last)) {
      return last;
    }
    validity = computed;
    return computed;
  }

  /** The greatest age that the leader's last contact usually has when a write is sent. */
  private Duration usualAge() {
    return tick.get().plus(timeout.get().dividedBy(HEARTBEATS_PER_TIMEOUT)).multipliedBy(2);
  }

  private long countsFrom(long sentAt) {
    long proven = contactBefore(sentAt).seenFromNow(time) + usualAge().toNanos();
    return proven - sentAt < 0 ? proven : sentAt;
  }

  /**
   * The last time at which the leader has certainly heard from the client, if it commits this
   * write.
   */
  private synchronized ClockReading contactBefore(long sentAt) {
    ClockReading heardOf = latestBefore(sentAt).heardOf();
    boolean reconnected =
        sentAt - lossNoticedAt >= 0 && lostRequestSentAt.nanos() - heardOf.nanos() > 0;
    return reconnected ? lostRequestSentAt : heardOf;
  }

  @GuardedBy("this")
  private Heartbeat latestBefore(long sentAt) {
    long minDistance = tick.get().toNanos();
    for (Iterator<Heartbeat> latestFirst = heartbeats.iterator(); latestFirst.hasNext(); ) {
      Heartbeat heartbeat = latestFirst.next();
      if (sentAt - heartbeat.answeredAt() >= minDistance) {
        return heartbeat;
      }
    }
    return new Heartbeat(beginning, beginning.nanos(), beginning);
  }

  // --- heartbeats -----------------------------------------------------------------------------

  /** Whether a write that is sent now would confirm the session for most of the validity. */
  boolean hasContact() {
    long now = time.nanoTime();
    return now - countsFrom(now) < validityPerConfirmation().toNanos() / 4;
  }

  /** The time until the next heartbeat. */
  Duration heartbeatPause() {
    if (connectionIsLost) {
      // The driver holds the heartbeat until it next connects, and its failure then dates that
      // attempt.
      return MIN_PAUSE;
    }
    Duration usual = timeout.get().dividedBy(HEARTBEATS_PER_TIMEOUT);
    Duration urgent = tick.get().dividedBy(URGENT_HEARTBEATS_PER_TICK);
    Duration pause = hasContact() || usual.compareTo(urgent) < 0 ? usual : urgent;
    return pause.compareTo(MIN_PAUSE) < 0 ? MIN_PAUSE : pause;
  }

  /** Waits until there is {@linkplain #hasContact contact}; returns whether there is. */
  boolean awaitContact(WakeUp wakeUp, Deadline deadline, BooleanSupplier sessionHasEnded)
      throws InterruptedException {
    while (!hasContact() && !sessionHasEnded.getAsBoolean() && !deadline.hasPassed()) {
      wakeUp.await(deadline.atMost(heartbeatPause()));
    }
    return hasContact();
  }
}
