package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.WatcherType;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One session with the ensemble, from its first connection to its end: what it is asked, what hangs
 * on it, and how long it is certain to last.
 *
 * <p>The requests go to the driver itself and not through Curator's builders, which repeat what met
 * a broken connection. A node that is made twice would stand in line before itself.
 *
 * <p>How long a session lasts is known from what it had committed, and from nothing else. Pings
 * prove nothing: the server that we are connected to answers them by itself, also when it has lost
 * the leader, which then ends the session behind its back. A committed write says that the session
 * was there, and {@link Pulse} of when the leader had heard by then: it is certain not to end the
 * session for the time-out from that moment on. How far that moment lies back while all is well is
 * always taken off, so that what is certain after a write does not depend on chance.
 */
final class Session {

  private static final Logger log = LoggerFactory.getLogger(Session.class);

  /** More of them make more of a session certain, and more work for the leader. */
  private static final int BEATS_PER_SESSION = 15;

  private static final int BEATS_PER_TICK_IN_A_HURRY = 4;
  private static final Duration SHORTEST_BEAT = Duration.ofMillis(20);

  private final ZooKeeper driver;
  private final TimeSource time;
  private final Duration tick;
  private final Connection connection;
  private final Pulse pulse;
  private final Set<Claim> held = ConcurrentHashMap.newKeySet();
  private final Set<WakeUp> waiting = ConcurrentHashMap.newKeySet();
  private final Set<String> kept = ConcurrentHashMap.newKeySet();
  private final AtomicInteger agreed = new AtomicInteger();

  @GuardedBy("kept")
  private boolean cleared;

  private volatile Moment confirmedAt;
  private volatile boolean ended;
  private volatile boolean silenced;

  /**
   * A new session.
   *
   * @param driver the driver's object for it, which it has to itself
   * @param time the clock
   * @param tick the servers' unit of time
   * @param patience how long a connection may be silent while something is asked
   * @param beginning when its driver was made, if that is known, or long before
   */
  Session(ZooKeeper driver, TimeSource time, Duration tick, Duration patience, Moment beginning) {
    this.driver = driver;
    this.time = time;
    this.tick = tick;
    this.connection = new Connection(time, patience, this::timeout, this::connectAnew);
    this.pulse = new Pulse(tick, beginning);
    // Nothing has been confirmed yet.
    this.confirmedAt = Moment.longBefore(time);
  }

  boolean isOf(ZooKeeper other) {
    return driver == other;
  }

  long id() {
    return driver.getSessionId();
  }

  TimeSource time() {
    return time;
  }

  // --- the connection -------------------------------------------------------------------------

  /** What its requests are sent on. */
  Connection connection() {
    return connection;
  }

  private void connectAnew() {
    log.debug("the connection of session {} is silent; another is made", Long.toHexString(id()));
    try {
      driver.getTestable().closeSocket();
    } catch (IOException e) {
      log.debug("the silent connection could not be closed", e);
    }
    // The driver looks at its connection when it has something to send.
    driver.sync("/", (code, asked, context) -> {}, null);
  }

  // --- how long it lasts ----------------------------------------------------------------------

  /** After how long without hearing of us the leader ends the session. */
  Duration timeout() {
    int millis = driver.getSessionTimeout();
    agreed.compareAndSet(0, millis);
    return Duration.ofMillis(millis);
  }

  /**
   * Whether a server has agreed to another time-out than the one before: it is agreed anew with
   * each connection. Then all that was said of the session is void. With a shorter one the leader
   * may end it earlier; with a longer one, too, if it hears from the former server last.
   */
  boolean hasChanged() {
    int millis = driver.getSessionTimeout(); // 0 when there is none any more
    return millis > 0 && agreed.get() > 0 && millis != agreed.get();
  }

  /** Refuses a session of which too little is certain at any time. */
  void requireLong(Failures failures) {
    Duration shortest = tick.multipliedBy(Topology.TICKS_PER_SESSION);
    if (timeout().compareTo(shortest) < 0) {
      throw failures.wrong(
          "the session's time-out is "
              + timeout().toMillis()
              + " ms, and locks need at least four ticks, which is "
              + shortest.toMillis()
              + " ms; ask for a longer one (sessionTimeout), raise the servers'"
              + " maxSessionTimeout, or say what their tickTime is",
          null);
    }
  }

  /**
   * For how long a committed write makes the session certain, counted from its send, while all is
   * well. A hundredth is for clocks that do not run at the same speed.
   */
  Duration validityPerConfirmation() {
    return timeout().multipliedBy(99).dividedBy(100).minus(usualAge());
  }

  /** How long before a write that was sent of which the leader had heard, at most. */
  private Duration usualAge() {
    return tick.plus(timeout().dividedBy(BEATS_PER_SESSION)).multipliedBy(2);
  }

  /** The send of the last write that is known to be committed, or earlier if all is not well. */
  long confirmedAt() {
    return confirmedAt.seenFromNow(time);
  }

  /**
   * A write that was sent at the given time has been committed.
   *
   * @return whether the session is certain by it for most of {@link #validityPerConfirmation}
   */
  @CanIgnoreReturnValue
  boolean confirm(long sentAt) {
    long counted = counted(sentAt);
    synchronized (this) {
      if (counted - confirmedAt() > 0) {
        confirmedAt = Moment.at(counted, time);
      }
    }
    return isRecent(counted, sentAt);
  }

  private long counted(long sentAt) {
    long heard = pulse.heardBy(sentAt).seenFromNow(time) + usualAge().toNanos();
    return heard - sentAt < 0 ? heard : sentAt;
  }

  private boolean isRecent(long counted, long sentAt) {
    return sentAt - counted < validityPerConfirmation().toNanos() / 4;
  }

  /** Waits until a write would {@link #confirm} the session; false if the deadline passes first. */
  @CanIgnoreReturnValue
  boolean awaitPulse(WakeUp wakeUp, Deadline deadline) throws InterruptedException {
    while (!hasPulse() && !hasEnded() && !deadline.hasPassed()) {
      wakeUp.await(deadline.orIn(beat()));
    }
    return hasPulse();
  }

  private boolean hasPulse() {
    long now = time.nanoTime();
    return isRecent(counted(now), now);
  }

  /** How long to wait for the next beat. While the session is not certain every tick counts. */
  private Duration beat() {
    Duration usual = timeout().dividedBy(BEATS_PER_SESSION);
    Duration hurried = tick.dividedBy(BEATS_PER_TICK_IN_A_HURRY);
    Duration beat = hasPulse() || usual.compareTo(hurried) < 0 ? usual : hurried;
    return beat.compareTo(SHORTEST_BEAT) < 0 ? SHORTEST_BEAT : beat;
  }

  /** Asks the leader for something, now and again until the session ends. Does not block. */
  void keepBeating() {
    if (hasEnded() || silenced) {
      return;
    }
    Moment sentAt = Moment.now(time);
    driver.sync(
        "/",
        (code, asked, context) -> {
          if (code == Code.OK.intValue()) {
            pulse.beat(sentAt, time.nanoTime());
            connection.heard();
          }
          CompletableFuture.delayedExecutor(beat().toNanos(), NANOSECONDS, Runnable::run)
              .execute(this::keepBeating);
        },
        null);
  }

  /** Nobody will ask any more how long it lasts. */
  void silence() {
    silenced = true;
  }

  // --- what hangs on it -----------------------------------------------------------------------

  /**
   * Makes a node of ours, which may be there from now on until it is known to be gone.
   *
   * @param prefix how its path begins
   */
  Reply<Made> createOwn(String prefix, byte[] data, List<ACL> access) {
    synchronized (kept) {
      if (cleared) {
        // What is cleared away was listed before this.
        Reply<Made> refusal = new Reply<>(prefix, this);
        refusal.complete(Code.SESSIONEXPIRED.intValue(), null);
        return refusal;
      }
      kept.add(prefix);
      return create(prefix, data, access, CreateMode.EPHEMERAL_SEQUENTIAL);
    }
  }

  void keepsNoMore(String prefix) {
    kept.remove(prefix);
  }

  /** Removes in the background what may be there, from a session that goes on without us. */
  void clear() {
    synchronized (kept) {
      cleared = true;
    }
    kept.forEach(prefix -> new Leftover(driver, prefix).remove());
  }

  /** A grant hangs on the session from now on; false if the session has ended. */
  boolean hold(Claim claim) {
    held.add(claim);
    return !hasEnded();
  }

  void drop(Claim claim) {
    held.remove(claim);
  }

  /** Somebody waits who has to know when the session ends. */
  void join(WakeUp waiter) {
    waiting.add(waiter);
    if (ended) {
      waiter.signal();
    }
  }

  void leave(WakeUp waiter) {
    waiting.remove(waiter);
  }

  boolean hasEnded() {
    return ended || hasChanged() || !driver.getState().isAlive();
  }

  /** What became of it. */
  String ending() {
    return hasChanged()
        ? "goes on with another time-out: a server agrees to "
            + driver.getSessionTimeout()
            + " ms, in place of "
            + agreed
        : "ended";
  }

  /** Wakes whoever waits, and returns the grants that have ended with the session. */
  List<Claim> end() {
    ended = true;
    waiting.forEach(WakeUp::signal);
    List<Claim> lost = new ArrayList<>(held);
    lost.forEach(held::remove);
    return lost;
  }

  // --- requests -------------------------------------------------------------------------------

  /** A node that was made. */
  record Made(String path, Stat stat) {}

  Reply<Made> create(String path, byte[] data, List<ACL> access, CreateMode mode) {
    Reply<Made> reply = new Reply<>(path, this);
    driver.create(
        path,
        data,
        access,
        mode,
        (code, asked, context, name, stat) ->
            reply.complete(code, name == null || stat == null ? null : new Made(name, stat)),
        null);
    return reply;
  }

  Reply<List<String>> children(String path) {
    Reply<List<String>> reply = new Reply<>(path, this);
    driver.getChildren(
        path, false, (code, asked, context, names) -> reply.complete(code, names), null);
    return reply;
  }

  /** Who says to have made a node, and by which transaction it was. */
  record Content(String label, long czxid) {}

  Reply<Content> data(String path) {
    Reply<Content> reply = new Reply<>(path, this);
    driver.getData(path, false, this::completeData, reply);
    return reply;
  }

  /**
   * Watches a node that is there. Unlike a look at its existence this leaves no watch behind if the
   * node has gone.
   */
  Reply<Content> watch(String path, Watcher watcher) {
    Reply<Content> reply = new Reply<>(path, this);
    driver.getData(path, watcher, this::completeData, reply);
    return reply;
  }

  private void completeData(int code, String path, Object reply, byte[] data, Stat stat) {
    @SuppressWarnings("unchecked") // what was passed along with the request
    Reply<Content> known = (Reply<Content>) reply;
    known.complete(
        code,
        stat == null
            ? null
            : new Content(data == null ? "" : new String(data, UTF_8), stat.getCzxid()));
  }

  /**
   * Ends our watch of a node, also if the server cannot be told. Does not wait. What the driver
   * sends when it is given one watcher only asks the server whether there is a watch.
   */
  void unwatch(String path) {
    driver.removeAllWatches(path, WatcherType.Data, true, (code, asked, context) -> {}, null);
  }

  Reply<Boolean> delete(String path) {
    Reply<Boolean> reply = new Reply<>(path, this);
    driver.delete(path, -1, (code, asked, context) -> reply.complete(code, true), null);
    return reply;
  }

  /**
   * Lets the reads that follow see what a follower's leader had committed before; it is no more
   * than a read if our server is the leader.
   */
  Reply<Boolean> sync(String path) {
    Reply<Boolean> reply = new Reply<>(path, this);
    driver.sync(path, (code, asked, context) -> reply.complete(code, true), null);
    return reply;
  }

  /** Says of each node whether it is there: 0, or an error code. */
  Reply<List<Integer>> check(List<String> paths) {
    Reply<List<Integer>> reply = new Reply<>(paths.get(0), this);
    // Checks alone change nothing, but are proposed and committed like any other transaction.
    List<Op> checks = paths.stream().map(path -> Op.check(path, -1)).toList();
    driver.multi(
        checks,
        (code, asked, context, results) -> {
          if (results == null || results.size() != paths.size()) {
            reply.complete(code == 0 ? Code.SYSTEMERROR.intValue() : code, null);
          } else {
            reply.complete(0, results.stream().map(Session::errorOf).toList());
          }
        },
        null);
    return reply;
  }

  private static int errorOf(OpResult result) {
    return result instanceof OpResult.ErrorResult error ? error.getErr() : 0;
  }
}
