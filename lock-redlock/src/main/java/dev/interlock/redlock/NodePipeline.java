package dev.interlock.redlock;

import dev.interlock.LockException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.NotSentException;
import dev.interlock.redis.server.Script;
import dev.interlock.spi.TimeSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * The way to one node: one connection, and one thread that uses it. Requests that arrive while it
 * waits for an answer are sent together afterwards.
 *
 * <p>All requests of a client to a node stay in order, so that a release never overtakes the
 * acquisition that it undoes. No caller's thread does any I/O, so no interrupt breaks a connection.
 * No caller waits here: the pipeline's thread delivers the answer, or the caller's own thread the
 * failure if the node is known to be out of reach.
 *
 * <p>Releases that could not be delivered are kept until they are delivered or the lock has
 * expired, and go first over the next connection.
 */
final class NodePipeline implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(NodePipeline.class);

  private static final int MOST_AT_ONCE = 256;
  private static final int MOST_PENDING = 10_000;
  private static final long FIRST_PAUSE = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(150);

  /** For how long a problem fails new requests, while the thread keeps trying. */
  private static final long NEWS = TimeUnit.SECONDS.toNanos(2);

  /** For how long to try to reach a node after the last request. */
  private static final long WANTED = TimeUnit.SECONDS.toNanos(10);

  private static final long LONGEST_REST = TimeUnit.MINUTES.toNanos(1);

  /** A script with its keys and arguments. */
  record Call(Script script, List<byte[]> keys, List<byte[]> arguments) {}

  /** A request. The pipeline's thread calls all methods but {@link #failed}. */
  interface Request {
    /**
     * Decides at the last moment what to send.
     *
     * @param run the process at the other end
     * @return null to send nothing
     */
    @Nullable Call call(String run);

    /** Takes the server's answer, possibly an exception. */
    void answered(Object reply);

    /** It was not sent, or not answered. */
    void failed(LockException problem, boolean timedOut);

    /** Whether it may be sent again when the connection breaks, and so be carried out twice. */
    default boolean isRepeatable() {
      return true;
    }

    /** Returns the time after which not to send it. */
    long sendBefore();

    /** Returns the id of a release, which is kept until it is delivered; null for others. */
    default @Nullable String releaseId() {
      return null;
    }
  }

  private final String name;
  private final NodeConnections connections;
  private final Failures failures;
  private final TimeSource time;
  private final int timeoutMillis;
  private final Consumer<String> connected;
  private final LinkedBlockingQueue<Request> queue = new LinkedBlockingQueue<>();
  private final Thread thread;

  private record Problem(LockException what, long at) {}

  private volatile @Nullable Problem problem;
  private volatile long wantedAt = System.nanoTime() - WANTED;
  private volatile boolean closed;
  private volatile @Nullable Connection current;

  // Used by the pipeline's thread only.

  private final Map<String, Request> pending = new LinkedHashMap<>();
  private String run = "";
  private long pause = FIRST_PAUSE;
  private long nextTry;
  private long usedAt;

  /**
   * Makes one that is not connected yet.
   *
   * @param connected takes the process at the other end of every new connection
   */
  NodePipeline(
      String name,
      NodeConnections connections,
      Failures failures,
      TimeSource time,
      int timeoutMillis,
      Consumer<String> connected) {
    this.name = name;
    this.connections = connections;
    this.failures = failures;
    this.time = time;
    this.timeoutMillis = timeoutMillis;
    this.connected = connected;
    this.nextTry = System.nanoTime();
    this.thread = new Thread(this::workUntilClosed, "interlock-redlock-" + name);
    thread.setDaemon(true);
    thread.start();
  }

  /** Sends it as soon as possible. Does not block. */
  void send(Request request) {
    long now = System.nanoTime();
    // Well before the thread stops trying, which may be about to go to sleep.
    boolean watched = now - wantedAt < WANTED / 2;
    wantedAt = now;
    Problem known = problem;
    if (closed) {
      request.failed(failures.passing("the client is closed", null), false);
    } else if (watched && known != null && now - known.at() < NEWS) {
      if (request.releaseId() == null) {
        request.failed(known.what(), false);
      } else {
        queue.add(request);
      }
    } else {
      queue.add(request);
    }
  }

  // --- the thread -------------------------------------------------------------------------------

  private void workUntilClosed() {
    while (true) {
      try {
        work();
        return;
      } catch (RuntimeException | Error e) {
        // There was no memory even to report it; callers time out.
        problem = null;
      }
    }
  }

  private void work() {
    while (!closed || !queue.isEmpty()) {
      List<Request> batch = List.of();
      try {
        batch = next();
        serve(batch);
      } catch (RuntimeException | Error e) {
        // The thread goes on, because no other would deliver the pending releases; but not over
        // this
        // connection, on which the next answer may belong to an earlier request. It disconnects
        // first, because there may be no memory for the rest.
        disconnect();
        down(bug(e));
        failAsKnown(batch);
      }
    }
    disconnect();
    fail(drained(), failures.passing("the client is closed", null), false);
  }

  private LockException bug(Throwable e) {
    log.error("answers of {} were lost because of a bug or a lack of memory", name, e);
    return failures.passing("a bug: " + e, e);
  }

  private List<Request> next() {
    List<Request> batch = new ArrayList<>();
    try {
      Request first = queue.poll(untilNextChore(), TimeUnit.NANOSECONDS);
      if (first != null) {
        batch.add(first);
        queue.drainTo(batch, MOST_AT_ONCE - 1);
      }
    } catch (InterruptedException e) {
      // Only close() interrupts this thread, to make it check.
    }
    return batch;
  }

  private long untilNextChore() {
    if (current == null && isWanted()) {
      return Math.max(1, nextTry - System.nanoTime());
    }
    return closed ? 1 : TimeUnit.MINUTES.toNanos(1);
  }

  private boolean isWanted() {
    return !closed && (!pending.isEmpty() || System.nanoTime() - wantedAt < WANTED);
  }

  private List<Request> drained() {
    List<Request> rest = new ArrayList<>();
    queue.drainTo(rest);
    return rest;
  }

  private void serve(List<Request> batch) {
    boolean fresh = false;
    if (current != null && System.nanoTime() - usedAt > LONGEST_REST) {
      // A firewall may have dropped it without a message to either end.
      disconnect();
    }
    if (current == null) {
      if (batch.isEmpty() && !isWanted()) {
        return;
      }
      // Tries at once for a request that comes after the problem is old.
      Problem known = problem;
      boolean stale = known == null || System.nanoTime() - known.at() >= NEWS;
      if (nextTry - System.nanoTime() > 0 && !stale) {
        failAsKnown(batch);
        return;
      }
      if (!connect()) {
        failAsKnown(batch);
        return;
      }
      fresh = true;
      if (!pending.isEmpty() && !exchange(new ArrayList<>(pending.values()), true)) {
        failAsKnown(batch);
        return;
      }
    }
    if (!batch.isEmpty()) {
      exchange(batch, fresh);
    }
  }

  private void failAsKnown(List<Request> batch) {
    Problem known = problem;
    LockException what = known == null ? failures.passing("not connected", null) : known.what();
    fail(batch, what, false);
  }

  private void fail(List<Request> batch, LockException what, boolean timedOut) {
    for (Request request : batch) {
      owe(request);
      request.failed(what, timedOut);
    }
  }

  private void owe(Request request) {
    String releaseId = request.releaseId();
    if (releaseId != null && request.sendBefore() - time.nanoTime() > 0) {
      pending.put(releaseId, request);
      if (pending.size() > MOST_PENDING) {
        pending.remove(pending.keySet().iterator().next());
      }
    }
  }

  private boolean connect() {
    try {
      Connection made = connections.make();
      current = made;
      if (closed) {
        throw new NotSentException("the client is closed", null);
      }
      run = connections.introduce(made, timeoutMillis);
      usedAt = System.nanoTime();
      problem = null;
      pause = FIRST_PAUSE;
      connected.accept(run);
      return true;
    } catch (JedisException | LockException e) {
      down(failures.explain(e));
      return false;
    }
  }

  private void down(LockException what) {
    disconnect();
    problem = new Problem(what, System.nanoTime());
    nextTry = System.nanoTime() + pause;
    pause = Math.min(LONGEST_PAUSE, pause * 2);
  }

  private void disconnect() {
    Connection old = current;
    current = null;
    if (old != null) {
      try {
        old.forceDisconnect();
      } catch (IOException e) {
        log.debug("could not close a connection", e);
      }
    }
  }

  /**
   * Sends all and hands out the answers.
   *
   * @param fresh whether the connection is new; the server may have closed an idle one without our
   *     noticing, which is then replaced
   * @return false if there is no connection any more
   */
  private boolean exchange(List<Request> batch, boolean fresh) {
    List<Request> sent = new ArrayList<>(batch.size());
    List<Call> calls = new ArrayList<>(batch.size());
    for (Request request : batch) {
      if (request.sendBefore() - time.nanoTime() <= 0) {
        forget(request);
        request.failed(failures.passing("the time was up before the request was sent", null), true);
        continue;
      }
      Call call = request.call(run);
      if (call != null) {
        sent.add(request);
        calls.add(call);
      } else {
        forget(request);
      }
    }
    if (sent.isEmpty()) {
      return true;
    }
    List<Object> replies;
    try {
      replies = replies(calls);
    } catch (JedisConnectionException e) {
      return broken(sent, fresh, e);
    } catch (JedisException e) {
      down(failures.explain(e));
      fail(sent, failures.explain(e), false);
      return false;
    }
    for (int i = 0; i < sent.size(); i++) {
      forget(sent.get(i));
      try {
        sent.get(i).answered(replies.get(i));
      } catch (RuntimeException | Error e) {
        // The other requests still get their answers.
        sent.get(i).failed(bug(e), false);
      }
    }
    return true;
  }

  private void forget(Request request) {
    String releaseId = request.releaseId();
    if (releaseId != null) {
      pending.remove(releaseId);
    }
  }

  private boolean broken(List<Request> sent, boolean fresh, JedisConnectionException e) {
    if (fresh || Failures.isTimeout(e) || closed) {
      LockException what = failures.explain(e);
      down(what);
      fail(sent, what, Failures.isTimeout(e));
      return false;
    }
    disconnect();
    List<Request> again = new ArrayList<>();
    for (Request request : sent) {
      if (request.isRepeatable()) {
        again.add(request);
      } else {
        request.failed(failures.explain(e), false);
      }
    }
    if (!connect()) {
      failAsKnown(again);
      return false;
    }
    return exchange(again, true);
  }

  private List<Object> replies(List<Call> calls) {
    Connection connection = current;
    if (connection == null) {
      throw new JedisConnectionException("not connected");
    }
    usedAt = System.nanoTime();
    connection.setSoTimeout(timeoutMillis);
    for (Call call : calls) {
      write(connection, call, false);
    }
    List<Object> replies = new ArrayList<>(connection.getMany(calls.size()));
    List<Integer> unknown = new ArrayList<>();
    for (int i = 0; i < replies.size(); i++) {
      if (replies.get(i) instanceof JedisNoScriptException) {
        unknown.add(i);
        write(connection, calls.get(i), true);
      }
    }
    if (!unknown.isEmpty()) {
      List<Object> second = connection.getMany(unknown.size());
      for (int i = 0; i < second.size(); i++) {
        replies.set(unknown.get(i), second.get(i));
      }
    }
    return replies;
  }

  private static void write(Connection connection, Call call, boolean withSource) {
    connection.sendCommand(call.script().command(withSource, call.keys(), call.arguments()));
  }

  /** Delivers what it can within a node's time-out, and ends. */
  @Override
  public void close() {
    closed = true;
    thread.interrupt();
  }

  void awaitEnd() throws InterruptedException {
    thread.join(timeoutMillis);
    Connection last = current;
    if (thread.isAlive() && last != null) {
      try {
        last.forceDisconnect();
      } catch (IOException e) {
        log.debug("could not close a connection", e);
      }
    }
  }
}
