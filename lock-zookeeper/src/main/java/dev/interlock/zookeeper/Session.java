package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Claim;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.WatcherType;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One session with the ensemble, from its first connection to its end: its requests, the claims
 * that depend on it, and how long it certainly lasts.
 *
 * <p>Requests go to the driver itself and not through Curator's builders, which repeat a request
 * after a broken connection. A node that was created twice would wait for itself.
 */
final class Session {

  private static final Logger log = LoggerFactory.getLogger(Session.class);

  private final Sessions succession;
  private final ZooKeeper driver;
  private final NodeAccount account;
  private final Connection connection;
  private final SessionCertainty certainty;
  private final Set<Claim> held = ConcurrentHashMap.newKeySet();
  private final Set<WakeUp> waiters = ConcurrentHashMap.newKeySet();
  private final Watches watches = new Watches();
  private final SoleUses soleUses = new SoleUses();

  /** The claims whose nodes may exist, and how many bytes each takes in the account. */
  private final Map<Claim, Integer> nodes = new ConcurrentHashMap<>();

  /** The time-out in milliseconds to which a server agreed first; 0 before that. */
  private final AtomicInteger agreed = new AtomicInteger();

  @GuardedBy("nodes")
  private boolean abandoned;

  private volatile boolean ended;
  private final AtomicBoolean heartbeatsGoOn = new AtomicBoolean();
  private volatile boolean heartbeatsEnded;
  private volatile boolean formatIsKnown;
  private volatile boolean refusalIsLogged;

  /**
   * Begins a session.
   *
   * @param succession what this is one of
   * @param driver the driver's object for this session alone
   * @param account what is counted of the nodes on it
   * @param beginning when the driver was created, if that is known, or long before
   */
  Session(Sessions succession, ZooKeeper driver, NodeAccount account, ClockReading beginning) {
    this.succession = succession;
    this.driver = driver;
    this.account = account;
    TimeSource time = succession.time();
    this.connection = new Connection(time, succession.patience(), this::timeout, this::connectAnew);
    this.certainty = new SessionCertainty(time, this::timeout, this::tick, beginning);
  }

  boolean isOf(ZooKeeper other) {
    return driver == other;
  }

  /** This session and those that follow it when it has ended. */
  Sessions succession() {
    return succession;
  }

  long id() {
    return driver.getSessionId();
  }

  SoleUses soleUses() {
    return soleUses;
  }

  // --- the connection -------------------------------------------------------------------------

  Connection connection() {
    return connection;
  }

  private void connectAnew() {
    log.debug("replacing the silent connection of session {}", Long.toHexString(id()));
    try {
      driver.getTestable().closeSocket();
    } catch (IOException e) {
      log.debug("the silent connection could not be closed", e);
    }
    // The driver notices the closed socket when it has something to send.
    driver.sync("/", (code, asked, context) -> {}, null);
  }

  // --- how long it lasts ----------------------------------------------------------------------

  /** How long the leader keeps the session without hearing of this client. */
  Duration timeout() {
    int millis = driver.getSessionTimeout();
    agreed.compareAndSet(0, millis);
    return Duration.ofMillis(millis);
  }

  /** The servers' tickTime, as far as it is known. */
  private Duration tick() {
    Duration timeout = timeout();
    // Without a connection there is no time-out.
    ZooKeeperSettings settings = succession.settings();
    return timeout.isZero() ? settings.tickTime() : settings.tickTime(timeout);
  }

  /**
   * Whether the time-out has changed: client and server agree on it with each connection. Then no
   * earlier validity counts. With a shorter time-out the leader may end the session earlier, and
   * with a longer one as well, if it last hears of the client from the former server.
   */
  boolean hasChanged() {
    int millis = driver.getSessionTimeout(); // 0 after the session's end
    return millis > 0 && agreed.get() > 0 && millis != agreed.get();
  }

  /** Refuses a session whose time-out leaves too little validity. */
  void requireLongEnough(Failures failures) {
    ZooKeeperSettings settings = succession.settings();
    if (timeout().compareTo(settings.shortestSession()) < 0) {
      throw failures.misconfigured(
          "the session's time-out is "
              + timeout().toMillis()
              + " ms, and locks need at least "
              + settings.shortestSessionInWords()
              + "; set a longer sessionTimeout, raise the servers' maxSessionTimeout, or set"
              + " tickTime to theirs",
          null);
    }
  }

  /** Until when it certainly lasts. */
  SessionCertainty certainty() {
    return certainty;
  }

  /**
   * Waits until a write would confirm the session for most of the validity; false if not by then.
   */
  @CanIgnoreReturnValue
  boolean awaitLeaderContact(WakeUp wakeUp, Deadline deadline) throws InterruptedException {
    sendHeartbeats();
    return certainty.awaitContact(wakeUp, deadline, this::hasEnded);
  }

  /**
   * Sends the leader a request, again and again until the session ends. Does nothing if that goes
   * on already: it stops for lack of memory or threads, and is to be tried again then. Does not
   * block.
   */
  void sendHeartbeats() {
    if (heartbeatsGoOn.compareAndSet(false, true)) {
      sendHeartbeat();
    }
  }

  private void sendHeartbeat() {
    if (hasEnded() || heartbeatsEnded) {
      heartbeatsGoOn.set(false);
      return;
    }
    try {
      ClockReading sentAt = ClockReading.now(succession.time());
      driver.sync("/", (code, asked, context) -> heartbeatAnswered(code, sentAt), null);
    } catch (RuntimeException | Error e) {
      heartbeatsGoOn.set(false);
      throw e;
    }
  }

  private void heartbeatAnswered(int code, ClockReading sentAt) {
    try {
      if (code == Code.OK.intValue()) {
        certainty.answered(sentAt);
        connection.answered();
      } else if (code == Code.CONNECTIONLOSS.intValue()) {
        certainty.connectionLost(sentAt);
      }
      succession.later().run(this::sendHeartbeat, certainty.heartbeatPause());
    } catch (RuntimeException | Error e) {
      heartbeatsGoOn.set(false);
      throw e;
    }
  }

  void endHeartbeats() {
    heartbeatsEnded = true;
  }

  // --- nodes, grants and waiters --------------------------------------------------------------

  /**
   * Reserves room for a claim's node, which counts as existing until {@link #nodeGone}.
   *
   * @return false if the session has too many nodes
   */
  boolean reserve(Claim claim) {
    int bytes = succession.nodeBytes(claim);
    synchronized (nodes) {
      if (!abandoned) { // otherwise the creation is refused
        if (!account.reserve(bytes)) {
          return false;
        }
        nodes.put(claim, bytes);
      }
      return true;
    }
  }

  /** Creates an ephemeral sequential node for which there is room. */
  ReplyFuture<Created> createOwn(String prefix, byte[] data, List<ACL> access) {
    synchronized (nodes) {
      if (abandoned) {
        // The cleanup would not know of it.
        ReplyFuture<Created> refusal = new ReplyFuture<>(prefix, this);
        refusal.complete(Code.SESSIONEXPIRED.intValue(), null);
        return refusal;
      }
      return create(prefix, data, access, CreateMode.EPHEMERAL_SEQUENTIAL);
    }
  }

  /** A claim's node certainly does not exist. After the abandonment, only the cleanup knows. */
  void nodeGone(Claim claim) {
    synchronized (nodes) {
      if (!abandoned) {
        giveBack(claim);
      }
    }
  }

  private void giveBack(Claim claim) {
    Integer bytes = nodes.remove(claim);
    if (bytes != null) {
      account.giveBack(bytes);
    }
  }

  /** Deletes the nodes that may exist, in the background: the session outlives this client. */
  void abandon() {
    synchronized (nodes) {
      abandoned = true;
    }
    for (Claim claim : nodes.keySet()) {
      String prefix = LockPaths.nodePrefix(succession.namespacePath(), claim);
      new OrphanCleanup(driver, succession.later(), prefix, () -> giveBack(claim)).start();
    }
  }

  /** Adds a grant that ends with the session; false if the session has ended. */
  boolean hold(Claim claim) {
    held.add(claim);
    return !hasEnded();
  }

  void drop(Claim claim) {
    held.remove(claim);
  }

  /** Adds a waiter, to be woken when the session ends. */
  void addWaiter(WakeUp waiter) {
    waiters.add(waiter);
    if (ended) {
      waiter.signal();
    }
  }

  void removeWaiter(WakeUp waiter) {
    waiters.remove(waiter);
  }

  boolean hasEnded() {
    return ended || hasChanged() || !driver.getState().isAlive();
  }

  /** Describes the session's end, as the end of a sentence. */
  String ending() {
    return hasChanged()
        ? "got another time-out: " + driver.getSessionTimeout() + " ms instead of " + agreed + " ms"
        : "ended";
  }

  /** Ends the session: wakes the waiters, and returns the grants that ended with it. */
  List<Claim> end() {
    ended = true;
    waiters.forEach(WakeUp::signal);
    List<Claim> lost = new ArrayList<>(held);
    lost.forEach(held::remove);
    return lost;
  }

  // --- requests -------------------------------------------------------------------------------

  /**
   * Refuses a namespace whose locks a later version stores in a format that is not known here. Asks
   * until it has seen the namespace's node once, since the first client that needs that node
   * decides the format. Without the right to read it the format is not checked.
   */
  void requireKnownFormat(Failures failures, Deadline deadline)
      throws KeeperException, InterruptedException {
    if (formatIsKnown) {
      return;
    }
    String path = succession.namespacePath();
    try {
      String data = data(path).await(deadline).text();
      if (!StoredFormat.isKnown(data)) {
        throw failures.unknownFormat(path, data);
      }
      formatIsKnown = true;
    } catch (KeeperException e) {
      if (e.code() == Code.NOAUTH) {
        formatIsKnown = true;
      } else if (!Failures.isNoNode(e)) {
        throw e;
      }
    }
  }

  /** A node that was created. */
  record Created(String path, Stat stat) {}

  ReplyFuture<Created> create(String path, byte[] data, List<ACL> access, CreateMode mode) {
    ReplyFuture<Created> reply = new ReplyFuture<>(path, this);
    driver.create(
        path,
        data,
        access,
        mode,
        (code, asked, context, name, stat) ->
            reply.complete(code, name == null || stat == null ? null : new Created(name, stat)),
        null);
    return reply;
  }

  /**
   * The children of a node.
   *
   * @param names their names, in no order
   * @param lastChange the last transaction that created or deleted one of them
   */
  record Children(List<String> names, long lastChange) {}

  ReplyFuture<Children> children(String path) {
    return children(path, null);
  }

  /** Lists the children of a node, and watches for the next change of them. */
  ReplyFuture<Children> watchChildren(String path, Watcher watcher) {
    return watches.begin(path, watcher, () -> children(path, watcher));
  }

  private ReplyFuture<Children> children(String path, @Nullable Watcher watcher) {
    ReplyFuture<Children> reply = new ReplyFuture<>(path, this);
    driver.getChildren(
        path,
        watcher,
        (code, asked, context, names, stat) ->
            reply.complete(
                code, names == null || stat == null ? null : new Children(names, stat.getPzxid())),
        null);
    return reply;
  }

  /**
   * The data of a node, which in a lock's queue is the holder's label.
   *
   * @param czxid the transaction that created the node
   * @param createdAt when that was, by the leader's clock
   * @param version how often the data was written since
   */
  record NodeData(String text, long czxid, Instant createdAt, int version) {

    static NodeData of(byte @Nullable [] data, Stat stat) {
      return new NodeData(
          data == null ? "" : new String(data, UTF_8),
          stat.getCzxid(),
          Instant.ofEpochMilli(stat.getCtime()),
          stat.getVersion());
    }

    /** Stands for the data of a node that may not be read. */
    static final NodeData REFUSED = new NodeData("", 0, Instant.EPOCH, 0);
  }

  ReplyFuture<NodeData> data(String path) {
    return data(path, null);
  }

  /** Watches a node. Unlike {@code exists} this leaves no watch behind if there is no node. */
  ReplyFuture<NodeData> watch(String path, Watcher watcher) {
    return watches.begin(path, watcher, () -> data(path, watcher));
  }

  /** Asks for the data of some nodes in a lock's queue at the same time. */
  Map<NodeName, ReplyFuture<NodeData>> dataOf(String lock, List<NodeName> nodes) {
    Map<NodeName, ReplyFuture<NodeData>> replies = new LinkedHashMap<>();
    nodes.forEach(node -> replies.put(node, data(lock + "/" + node.full())));
    return replies;
  }

  private ReplyFuture<NodeData> data(String path, @Nullable Watcher watcher) {
    ReplyFuture<NodeData> reply = new ReplyFuture<>(path, this);
    driver.getData(
        path,
        watcher,
        (code, asked, context, data, stat) ->
            reply.complete(code, stat == null ? null : NodeData.of(data, stat)),
        null);
    return reply;
  }

  /**
   * Ends a watch, even while there is no connection. Does not block. Given a single watcher, the
   * driver would only ask the server whether the watch exists.
   */
  void unwatch(String path, Watcher watcher, WatcherType type) {
    watches.end(
        path,
        watcher,
        () -> driver.removeAllWatches(path, type, true, (code, asked, context) -> {}, null));
  }

  /** A watch has fired, or was not set. */
  void watchEnded(String path, Watcher watcher) {
    watches.ended(path, watcher);
  }

  /**
   * Writes a node's data again in the background, which wakes those who watch it. Repeats that
   * while the outcome is in doubt, the node exists and the session lasts.
   */
  void rewrite(String path, byte[] data) {
    driver.setData(
        path,
        data,
        -1,
        (code, asked, context, stat) -> {
          Code known = Code.get(code);
          if (known != null && Failures.isInDoubt(known)) {
            succession
                .later()
                .run(() -> rewriteUnlessEnded(path, data), certainty.heartbeatPause());
          } else if (code == Code.NOAUTH.intValue() && !refusalIsLogged) {
            refusalIsLogged = true;
            DaemonThreads.runApart(
                "interlock-zookeeper-log",
                () ->
                    log.warn(
                        "the servers refuse to write {}; while clients may not write their own"
                            + " nodes, waiters for permits are served late",
                        path));
          }
        },
        null);
  }

  private void rewriteUnlessEnded(String path, byte[] data) {
    if (!hasEnded() && !heartbeatsEnded) {
      rewrite(path, data);
    }
  }

  ReplyFuture<Boolean> delete(String path) {
    ReplyFuture<Boolean> reply = new ReplyFuture<>(path, this);
    driver.delete(path, -1, (code, asked, context) -> reply.complete(code, true), null);
    return reply;
  }

  /**
   * Lets later reads from a follower see what the leader had committed. A leader answers a sync of
   * its own clients like a read.
   */
  ReplyFuture<Boolean> sync(String path) {
    ReplyFuture<Boolean> reply = new ReplyFuture<>(path, this);
    driver.sync(path, (code, asked, context) -> reply.complete(code, true), null);
    return reply;
  }

  /**
   * Ends with a committed transaction that was sent now. A transaction of checks changes nothing,
   * but is proposed and committed like any other, even if a check fails.
   */
  ReplyFuture<Boolean> commit() {
    ReplyFuture<Boolean> reply = new ReplyFuture<>(succession.namespacePath(), this);
    driver.multi(
        List.of(Op.check(succession.namespacePath(), -1)),
        (code, asked, context, results) -> reply.complete(results == null ? code : 0, true),
        null);
    return reply;
  }

  /**
   * Checks in a committed transaction that nodes exist.
   *
   * @return 0 for each if all exist; otherwise the error of the first that does not, and others
   */
  ReplyFuture<List<Integer>> check(List<String> paths) {
    ReplyFuture<List<Integer>> reply = new ReplyFuture<>(paths.get(0), this);
    driver.multi(
        paths.stream().map(path -> Op.check(path, -1)).toList(),
        (code, asked, context, results) -> {
          if (results == null || results.size() != paths.size()) {
            reply.complete(code == 0 ? Code.SYSTEMERROR.intValue() : code, null);
            return;
          }
          List<Integer> errors = results.stream().map(Session::errorOf).toList();
          int refusal =
              errors.stream().filter(error -> !isOfExistence(error)).findFirst().orElse(0);
          reply.complete(refusal, errors);
        },
        null);
    return reply;
  }

  /** Whether a check answers this if its node exists, it does not, or another one does not. */
  private static boolean isOfExistence(int error) {
    return error == 0
        || error == Code.NONODE.intValue()
        || error == Code.RUNTIMEINCONSISTENCY.intValue();
  }

  private static int errorOf(OpResult result) {
    return result instanceof OpResult.ErrorResult error ? error.getErr() : 0;
  }
}
