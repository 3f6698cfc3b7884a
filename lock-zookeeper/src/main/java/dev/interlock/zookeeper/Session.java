package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.spi.Claim;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
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
 * the leader, which then ends the session behind its back. The leader hears of a client from the
 * servers' answers to its own pings, two of them in a tick, so when it commits a write it may last
 * have heard of us as long ago as our own last ping, a third of the time-out before, and half a
 * tick. It is certain not to end the session for the rest of the time-out.
 */
final class Session {

  private static final Logger log = LoggerFactory.getLogger(Session.class);

  private final ZooKeeper driver;
  private final TimeSource time;
  private final Duration tick;
  private final Connection connection;
  private final AtomicLong confirmedAt;
  private final Set<Claim> held = ConcurrentHashMap.newKeySet();
  private final Set<WakeUp> waiting = ConcurrentHashMap.newKeySet();
  private final Set<String> nodes = ConcurrentHashMap.newKeySet();
  private volatile boolean ended;

  /**
   * A new session.
   *
   * @param driver the driver's object for it, which it has to itself
   * @param time the clock
   * @param tick the servers' unit of time
   * @param patience how long a connection may be silent while something is asked
   */
  Session(ZooKeeper driver, TimeSource time, Duration tick, Duration patience) {
    this.driver = driver;
    this.time = time;
    this.tick = tick;
    this.connection = new Connection(time, patience, this::timeout, this::connectAnew);
    // Nothing has been confirmed yet.
    this.confirmedAt = new AtomicLong(time.nanoTime() - Duration.ofDays(1).toNanos());
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
    return Duration.ofMillis(driver.getSessionTimeout());
  }

  /** For how long a committed write makes the session certain, counted from its send. */
  Duration certainFor() {
    return timeout().multipliedBy(2).dividedBy(3).minus(tick);
  }

  /** The send of the last write that is known to be committed. */
  long confirmedAt() {
    return confirmedAt.get();
  }

  /** A write that was sent at the given time has been committed. */
  void confirm(long sentAt) {
    confirmedAt.accumulateAndGet(sentAt, (a, b) -> a - b >= 0 ? a : b);
  }

  // --- what hangs on it -----------------------------------------------------------------------

  /** A node of ours is there from now on, until its deletion is confirmed or the session ends. */
  void keeps(String node) {
    nodes.add(node);
  }

  void keepsNoMore(String node) {
    nodes.remove(node);
  }

  /** The nodes whose deletion is not confirmed. */
  Set<String> nodes() {
    return nodes;
  }

  /** A grant hangs on the session from now on; false if the session has ended. */
  boolean hold(Claim claim) {
    held.add(claim);
    return !ended;
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
    return ended || !driver.getState().isAlive();
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
