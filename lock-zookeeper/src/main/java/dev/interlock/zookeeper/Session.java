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
 * that depend on it, and the time until which it is certain to last.
 *
 * <p>Requests go directly to the driver, because Curator's builders repeat a request after a broken
 * connection. A node that was created twice would wait for itself.
 */
final class Session {

  private static final Logger log = LoggerFactory.getLogger(Session.class);

  private final Sessions sessions;
  private final ZooKeeper driver;
  private final NodeAccount account;
  private final Connection connection;
  private final SessionCertainty certainty;
  private final Set<Claim> grants = ConcurrentHashMap.newKeySet();
  private final Set<WakeUp> waiters = ConcurrentHashMap.newKeySet();
  private final Watches watches = new Watches();
  private final SoleUses soleUses = new SoleUses();

  /** The claims whose nodes may exist, and how many bytes each takes in the account. */
  private final Map<Claim, Integer> nodes = new ConcurrentHashMap<>();

  /** The time-out in milliseconds to which a server agreed first; 0 before that. */
  private final AtomicInteger agreed = new AtomicInteger();

  @GuardedBy("nodes")
  private boolean cleaningUp;

  private volatile boolean ended;
  private final AtomicBoolean heartbeatsRunning = new AtomicBoolean();
  private volatile boolean heartbeatsStopped;
  private volatile boolean formatIsKnown;
  private volatile boolean refusalIsLogged;

  /**
   * Begins a session.
   *
   * @param sessions the sessions of the framework, of which this is one
   * @param driver the driver's object for this session alone
   * @param account counts the nodes on the session
   * @param beginning a time before the session began: when the driver was created, or long before
   *     that if it is not known
   */
  Session(Sessions sessions, ZooKeeper driver, NodeAccount account, ClockReading beginning) {
    this.sessions = sessions;
    this.driver = driver;
    this.account = account;
    TimeSource time = sessions.time();
    this.connection =
        new Connection(time, sessions.silenceTimeout(), this::timeout, this::reconnect);
    this.certainty = new SessionCertainty(time, this::timeout, this::tick, beginning);
  }

  boolean isOf(ZooKeeper other) {
    return driver == other;
  }

  /** The sessions of the framework: this one, and those that follow it. */
  Sessions sessions() {
    return sessions;
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

  private void reconnect() {
    log.debug("replacing the silent connection of session {}", Long.toHexString(id()));
    try {
      driver.getTestable().closeSocket();
    } catch (IOException e) {
      log.debug("could not close the silent connection", e);
    }
    // The driver notices the closed socket when it has something to send.
    driver.sync("/", (code, asked, context) -> {}, null);
  }

  // --- how long it lasts ----------------------------------------------------------------------

  /** The time for which the leader keeps the session without hearing of this client. */
  Duration timeout() {
    int millis = driver.getSessionTimeout();
    agreed.compareAndSet(0, millis);
    return Duration.ofMillis(millis);
  }

  /** The servers' tickTime, or an estimate. */
  private Duration tick() {
    Duration timeout = timeout();
    // Without a connection there is no time-out.
    ZooKeeperSettings settings = sessions.settings();
    return timeout.isZero() ? settings.tickTime() : settings.tickTime(timeout);
  }

  /**
   * Whether the time-out has changed. Client and server negotiate it with each connection. A change
   * voids every earlier validity: with a shorter time-out the leader may end the session earlier.
   * With a longer one it may do so, too, if it last heard from the client through the former
   * server.
   */
  boolean isTimeoutChanged() {
    int millis = driver.getSessionTimeout(); // 0 after the session's end
    return millis > 0 && agreed.get() > 0 && millis != agreed.get();
  }

  /** Refuses a session whose time-out leaves too little validity. */
  void requireMinTimeout(Failures failures) {
    ZooKeeperSettings settings = sessions.settings();
    if (timeout().compareTo(settings.minSessionTimeout()) < 0) {
      throw failures.misconfigured(
          "the session's time-out is "
              + timeout().toMillis()
              + " ms, and locks need at least "
              + settings.describeMinSessionTimeout()
              + "; set a longer sessionTimeout, raise the servers' maxSessionTimeout, or set"
              + " tickTime to theirs",
          null);
    }
  }

  /** Tracks until when the session is certain to last. */
  SessionCertainty certainty() {
    return certainty;
  }

  /**
   * Waits until a write would confirm the session for most of the validity. Returns false if the
   * deadline passes first.
   */
  @CanIgnoreReturnValue
  boolean awaitLeaderContact(WakeUp wakeUp, Deadline deadline) throws InterruptedException {
    sendHeartbeats();
    return certainty.awaitContact(wakeUp, deadline, this::hasEnded);
  }

  /**
   * Sends heartbeats to the leader until the session ends, unless they are running. They stop for
   * lack of memory or threads; call this again to resume them. Does not block.
   */
  void sendHeartbeats() {
    if (heartbeatsRunning.compareAndSet(false, true)) {
      sendHeartbeat();
    }
  }

  private void sendHeartbeat() {
    if (hasEnded() || heartbeatsStopped) {
      heartbeatsRunning.set(false);
      return;
    }
    try {
      ClockReading sentAt = ClockReading.now(sessions.time());
      driver.sync("/", (code, asked, context) -> onHeartbeatReply(code, sentAt), null);
    } catch (RuntimeException | Error e) {
      heartbeatsRunning.set(false);
      throw e;
    }
  }

  private void onHeartbeatReply(int code, ClockReading sentAt) {
    try {
      if (code == Code.OK.intValue()) {
        certainty.onHeartbeatReply(sentAt);
        connection.onReply();
      } else if (code == Code.CONNECTIONLOSS.intValue()) {
        certainty.onConnectionLoss(sentAt);
      }
      sessions.delayedTasks().run(this::sendHeartbeat, certainty.heartbeatPause());
    } catch (RuntimeException | Error e) {
      heartbeatsRunning.set(false);
      throw e;
    }
  }

  void stopHeartbeats() {
    heartbeatsStopped = true;
  }

  // --- nodes, grants and waiters --------------------------------------------------------------

  /**
   * Reserves room for a claim's node, which counts as existing until {@link #forgetNode}.
   *
   * @return false if the session has too many nodes
   */
  boolean reserve(Claim claim) {
    int bytes = sessions.nodeBytes(claim);
    synchronized (nodes) {
      if (!cleaningUp) { // otherwise the creation is refused
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
      if (cleaningUp) {
        // The cleanup would not know about the node.
        ReplyFuture<Created> refusal = new ReplyFuture<>(prefix, this);
        refusal.complete(Code.SESSIONEXPIRED.intValue(), null);
        return refusal;
      }
      return create(prefix, data, access, CreateMode.EPHEMERAL_SEQUENTIAL);
    }
  }

  /** Forgets a claim's node, which certainly does not exist. Ignored once the cleanup has begun. */
  void forgetNode(Claim claim) {
    synchronized (nodes) {
      if (!cleaningUp) {
        freeRoom(claim);
      }
    }
  }

  private void freeRoom(Claim claim) {
    Integer bytes = nodes.remove(claim);
    if (bytes != null) {
      account.free(bytes);
    }
  }

  /**
   * Deletes in the background the nodes that may exist, because the session outlives this client.
   */
  void cleanUp() {
    synchronized (nodes) {
      cleaningUp = true;
    }
    for (Claim claim : nodes.keySet()) {
      String prefix = LockPaths.nodePrefix(sessions.namespacePath(), claim);
      new OrphanCleanup(driver, sessions.delayedTasks(), prefix, () -> freeRoom(claim)).start();
    }
  }

  /** Adds a grant that ends with the session. Returns false if the session has ended. */
  boolean addGrant(Claim claim) {
    grants.add(claim);
    return !hasEnded();
  }

  void removeGrant(Claim claim) {
    grants.remove(claim);
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
    return ended || isTimeoutChanged() || !driver.getState().isAlive();
  }

  /** Says why the session ended, as the predicate of a sentence. */
  String endReason() {
    return isTimeoutChanged()
        ? "got another time-out: " + driver.getSessionTimeout() + " ms instead of " + agreed + " ms"
        : "ended";
  }

  /** Ends the session and wakes its waiters. Returns the grants that ended with it. */
  List<Claim> end() {
    ended = true;
    waiters.forEach(WakeUp::signal);
    List<Claim> lost = new ArrayList<>(grants);
    lost.forEach(grants::remove);
    return lost;
  }

  // --- requests -------------------------------------------------------------------------------

  /**
   * Refuses a namespace whose locks are stored in the unknown format of a later version. Asks again
   * until it has seen the namespace's node, because the client that creates the node decides the
   * format. Skips the check if it may not read the node.
   */
  void requireKnownFormat(Failures failures, Deadline deadline)
      throws KeeperException, InterruptedException {
    if (formatIsKnown) {
      return;
    }
    String path = sessions.namespacePath();
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

  /** Lists the children of a node, and watches for the next change among them. */
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

    /** The data of a node that the client may not read. */
    static final NodeData REFUSED = new NodeData("", 0, Instant.EPOCH, 0);
  }

  ReplyFuture<NodeData> data(String path) {
    return data(path, null);
  }

  /** Watches a node. Unlike {@code exists} this leaves no watch behind if there is no node. */
  ReplyFuture<NodeData> watch(String path, Watcher watcher) {
    return watches.begin(path, watcher, () -> data(path, watcher));
  }

  /** Sends the requests for the data of several nodes in a lock's queue. */
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
   * Ends a watch, even while there is no connection. Does not block. Asks the driver to remove all
   * watchers of the path: to remove a single one, the driver would only ask the server whether the
   * watch exists.
   */
  void unwatch(String path, Watcher watcher, WatcherType type) {
    watches.end(
        path,
        watcher,
        () -> driver.removeAllWatches(path, type, true, (code, asked, context) -> {}, null));
  }

  /** Forgets a watch that has fired or was not set. */
  void forgetWatch(String path, Watcher watcher) {
    watches.forget(path, watcher);
  }

  /**
   * Writes a node's data again in the background, which wakes its watchers. Repeats the write while
   * its outcome is in doubt, the node exists and the session lasts.
   */
  void rewrite(String path, byte[] data) {
    driver.setData(
        path,
        data,
        -1,
        (code, asked, context, stat) -> {
          Code reply = Code.get(code);
          if (reply != null && Failures.isInDoubt(reply)) {
            sessions
                .delayedTasks()
                .run(() -> rewriteUnlessEnded(path, data), certainty.heartbeatPause());
          } else if (code == Code.NOAUTH.intValue() && !refusalIsLogged) {
            refusalIsLogged = true;
            DaemonThreads.runApart(
                "interlock-zookeeper-log",
                () ->
                    log.warn(
                        "the servers refuse to write {}, so waiters for permits are served late;"
                            + " give clients the right to write their own nodes",
                        path));
          }
        },
        null);
  }

  private void rewriteUnlessEnded(String path, byte[] data) {
    if (!hasEnded() && !heartbeatsStopped) {
      rewrite(path, data);
    }
  }

  ReplyFuture<Boolean> delete(String path) {
    ReplyFuture<Boolean> reply = new ReplyFuture<>(path, this);
    driver.delete(path, -1, (code, asked, context) -> reply.complete(code, true), null);
    return reply;
  }

  /**
   * Makes later reads from a follower show what the leader had committed. A leader answers a sync
   * of its own clients like a read.
   */
  ReplyFuture<Boolean> sync(String path) {
    ReplyFuture<Boolean> reply = new ReplyFuture<>(path, this);
    driver.sync(path, (code, asked, context) -> reply.complete(code, true), null);
    return reply;
  }

  /**
   * Commits a transaction that changes nothing. The ensemble proposes and commits a transaction of
   * checks like any other, even if a check fails.
   */
  ReplyFuture<Boolean> commit() {
    ReplyFuture<Boolean> reply = new ReplyFuture<>(sessions.namespacePath(), this);
    driver.multi(
        List.of(Op.check(sessions.namespacePath(), -1)),
        (code, asked, context, results) -> reply.complete(results == null ? code : 0, true),
        null);
    return reply;
  }

  /**
   * Checks in a committed transaction that nodes exist.
   *
   * @return 0 for each node if all exist; otherwise the errors, among them that of the first
   *     missing node
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
              errors.stream().filter(error -> !isAboutExistence(error)).findFirst().orElse(0);
          reply.complete(refusal, errors);
        },
        null);
    return reply;
  }

  /**
   * Whether a check replies so because its node exists, or because its node or another does not.
   */
  private static boolean isAboutExistence(int error) {
    return error == 0
        || error == Code.NONODE.intValue()
        || error == Code.RUNTIMEINCONSISTENCY.intValue();
  }

  private static int errorOf(OpResult result) {
    return result instanceof OpResult.ErrorResult error ? error.getErr() : 0;
  }
}
