package dev.interlock.redlock;

import dev.interlock.LockException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.NotSentException;
import dev.interlock.redis.server.Script;
import dev.interlock.spi.TimeSource;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
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
 * <p>A caller that finds nothing waiting here may use the connection itself, see {@link Turns}, as
 * long as nothing goes wrong. It leaves behind what is not answered when it no longer needs the
 * answer; whoever comes next reads that first. Everything that takes time, such as connecting, and
 * everything that may fail twice is left to the pipeline's thread.
 *
 * <p>All requests of a client to a node stay in order, so that a release never overtakes the
 * acquisition that it undoes. A caller never blocks on a connection, so no interrupt breaks one.
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

  /** A request. Whoever uses the connection calls its methods; anybody may call {@link #failed}. */
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

    /** Whether its sender wants it no more, so that it must not be sent again. */
    default boolean isVoid() {
      return false;
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

  /** Taken from by whoever {@linkplain #use uses} the connection. */
  private final Queue<Request> queue = new ConcurrentLinkedQueue<>();

  private final Thread thread;

  private record Problem(LockException what, long at) {}

  private volatile @Nullable Problem problem;
  private volatile long wantedAt = System.nanoTime() - WANTED;
  private volatile boolean closed;

  /** Whether the thread has something to do beside the queue. */
  private volatile boolean called;

  private volatile @Nullable Connection connection;

  /** Guards the connection and all fields below. */
  private final ReentrantLock use = new ReentrantLock();

  /**
   * A request that was sent.
   *
   * @param whole whether with the source of its script
   */
  private record Sent(Request request, Call call, boolean whole, long at) {}

  private @Nullable NodeLine current;

  /** What was sent and has not been answered, oldest first. */
  private final ArrayDeque<Sent> owed = new ArrayDeque<>();

  /** Requests whose script the server did not know. */
  private final List<Sent> unknown = new ArrayList<>();

  /** What went wrong in a caller's turn, for the thread to deal with. */
  private @Nullable Throwable trouble;

  /** Whether the socket took only part of a caller's request; the thread sends the rest. */
  private boolean isFull;

  /** The turns in which a caller used it last. */
  private @Nullable Turns turns;

  private long heardAt = System.nanoTime();

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
    } else if (watched && known != null && now - known.at() < NEWS && request.releaseId() == null) {
      request.failed(known.what(), false);
    } else {
      queue.add(request);
      LockSupport.unpark(thread);
    }
  }

  private void call() {
    called = true;
    LockSupport.unpark(thread);
  }

  // --- a caller's turn --------------------------------------------------------------------------

  /**
   * Gives the connection to the calling thread, unless it is in use or the thread has to see to it.
   */
  boolean enter(Turns by) {
    if (!queue.isEmpty() || !use.tryLock()) {
      return false;
    }
    boolean entered = false;
    try {
      entered = isFitFor(by);
      return entered;
    } catch (IOException | RuntimeException e) {
      return false; // the thread will find out
    } finally {
      if (!entered) {
        use.unlock();
      }
    }
  }

  private boolean isFitFor(Turns by) throws IOException {
    if (closed || !queue.isEmpty() || isInTrouble() || !(current instanceof ChannelLine line)) {
      return false;
    }
    long now = System.nanoTime();
    Sent oldest = owed.peek();
    if (oldest != null ? now - oldest.at() > Turns.PATIENCE : now - usedAt > LONGEST_REST) {
      return false;
    }
    turns = by;
    line.listenBy(by.selector(), this);
    return true;
  }

  private boolean isInTrouble() {
    return trouble != null || isFull || !unknown.isEmpty();
  }

  /** Whether the calling thread has the connection. */
  boolean isEntered() {
    return use.isHeldByCurrentThread();
  }

  /** Sends it at once, from a thread that has the connection. */
  void sendNow(Request request) {
    if (isInTrouble() || !(current instanceof ChannelLine line)) {
      send(request);
      return;
    }
    boolean isOwed = false;
    try {
      Call call = prepared(request);
      if (call != null) {
        usedAt = System.nanoTime();
        wantedAt = usedAt;
        owed.add(new Sent(request, call, false, usedAt));
        isOwed = true;
        line.write(call, false);
        isFull = !line.flush();
      }
    } catch (IOException | RuntimeException | Error e) {
      trouble = e;
      if (!isOwed) {
        send(request); // a bug or a lack of memory, of which the thread informs it
      }
    }
  }

  /** Hands out the answers that have come, on a thread that has the connection. */
  void receive() {
    if (isInTrouble() || !(current instanceof ChannelLine line)) {
      return;
    }
    try {
      line.fill();
      Object reply = line.next();
      while (reply != ChannelLine.NOTHING) {
        take(owed.remove(), reply);
        reply = line.next();
      }
    } catch (IOException | RuntimeException | Error e) {
      trouble = e;
    }
  }

  /** Whether the caller has nothing more to wait for here. */
  boolean isDone() {
    return owed.isEmpty() || isInTrouble();
  }

  /** Whether the caller should leave it to others now. */
  boolean isWantedByOthers() {
    return isInTrouble() || (owed.isEmpty() && !queue.isEmpty());
  }

  /**
   * Ends the turn here.
   *
   * @param impatient whether to have the pipeline's thread wait for what is not answered
   * @return whether answers are outstanding that nobody has been asked to read
   */
  boolean leave(boolean impatient) {
    boolean owes = !owed.isEmpty();
    boolean call = isInTrouble() || (owes && impatient);
    use.unlock();
    if (call) {
      call();
    }
    return owes && !call;
  }

  /** Reads answers that callers did not wait for; returns whether more are outstanding. */
  boolean sweep() {
    if (!use.tryLock()) {
      return false; // whoever has it sees to what it leaves
    }
    boolean overdue = false;
    boolean owes;
    try {
      if (!owed.isEmpty()) {
        receive();
        Sent oldest = owed.peek();
        overdue = oldest != null && System.nanoTime() - oldest.at() > Turns.PATIENCE;
      }
    } finally {
      owes = leave(overdue);
    }
    return owes;
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
    long rest = 0;
    while (!closed || !queue.isEmpty()) {
      if (queue.isEmpty() && !called && !closed) {
        LockSupport.parkNanos(this, rest);
      }
      called = false;
      List<Request> batch = new ArrayList<>();
      use.lock();
      try {
        takeFromQueue(batch);
        serve(batch);
        rest = untilNextChore();
      } catch (RuntimeException | Error e) {
        // The thread goes on, because no other would deliver the pending releases; but not over
        // this connection, on which the next answer may belong to an earlier request. It
        // disconnects first, because there may be no memory for the rest.
        rest = FIRST_PAUSE;
        disconnect();
        down(bug(e));
        failAsKnown(unanswered());
        failAsKnown(batch);
      } finally {
        use.unlock();
      }
    }
    use.lock();
    try {
      settle();
    } finally {
      disconnect();
      use.unlock();
    }
    for (Request late = queue.poll(); late != null; late = queue.poll()) {
      fail(List.of(late), failures.passing("the client is closed", null), false);
    }
  }

  private LockException bug(Throwable e) {
    log.error("answers of {} were lost because of a bug or a lack of memory", name, e);
    return failures.passing("a bug: " + e, e);
  }

  private void takeFromQueue(List<Request> batch) {
    Request next = queue.peek();
    while (next != null && batch.size() < MOST_AT_ONCE) {
      batch.add(next);
      queue.remove();
      next = queue.peek();
    }
  }

  private long untilNextChore() {
    if (current == null && isWanted()) {
      return Math.max(1, nextTry - System.nanoTime());
    }
    return TimeUnit.MINUTES.toNanos(1);
  }

  private boolean isWanted() {
    return !closed && (!pending.isEmpty() || System.nanoTime() - wantedAt < WANTED);
  }

  /** Takes all requests that were sent and not answered. */
  private List<Request> unanswered() {
    List<Request> requests = new ArrayList<>();
    unknown.forEach(sent -> requests.add(sent.request()));
    owed.forEach(sent -> requests.add(sent.request()));
    unknown.clear();
    owed.clear();
    trouble = null;
    return requests;
  }

  /** Deals with what callers have left: problems, and answers that they did not wait for. */
  private void settle() {
    if (current instanceof ChannelLine line) {
      line.stopListening();
    }
    Throwable problem = trouble;
    trouble = null;
    isFull = false;
    if (problem == null) {
      collect(false);
    } else {
      broken(
          false,
          problem instanceof JedisConnectionException known
              ? known
              : new JedisConnectionException(problem));
    }
  }

  private void serve(List<Request> batch) {
    boolean fresh = false;
    settle();
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
    failAsKnown(unanswered()); // there are none, unless there was no memory to fail them
    try {
      Connection made = connections.make();
      connection = made;
      if (closed) {
        throw new NotSentException("the client is closed", null);
      }
      run = connections.introduce(made, timeoutMillis);
      current = NodeLine.over(made);
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
    Connection old = connection;
    NodeLine line = current;
    connection = null;
    current = null;
    if (line != null) {
      line.close();
    } else if (old != null) {
      NodeLine.disconnect(old);
    }
    Turns last = turns;
    if (last != null) {
      last.forgetClosed();
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
    NodeLine line = current;
    if (line == null) {
      throw new IllegalStateException("not connected");
    }
    usedAt = System.nanoTime();
    try {
      for (Request request : batch) {
        Call call = prepared(request);
        if (call != null) {
          owed.add(new Sent(request, call, false, usedAt));
          line.write(call, false);
        }
      }
    } catch (JedisConnectionException e) {
      return broken(fresh, e);
    }
    return collect(fresh);
  }

  /** Returns what to send, or null if the request is not to be sent. */
  private @Nullable Call prepared(Request request) {
    if (request.sendBefore() - time.nanoTime() <= 0) {
      forget(request);
      request.failed(failures.passing("the time was up before the request was sent", null), true);
      return null;
    }
    Call call = request.call(run);
    if (call == null) {
      forget(request);
    }
    return call;
  }

  /** Waits for all answers; returns false if there is no connection any more. */
  private boolean collect(boolean fresh) {
    try {
      while (current != null && !(owed.isEmpty() && unknown.isEmpty())) {
        while (!owed.isEmpty()) {
          Object reply = current.read(untilTimeout(owed.element()));
          take(owed.remove(), reply);
        }
        sendWhole(current);
      }
      return current != null;
    } catch (JedisConnectionException e) {
      return broken(fresh, e);
    } catch (JedisException e) {
      down(failures.explain(e));
      fail(unanswered(), failures.explain(e), false);
      return false;
    }
  }

  /** The time-out begins again with each answer. */
  private int untilTimeout(Sent next) {
    long since = next.at() - heardAt > 0 ? next.at() : heardAt;
    long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - since);
    return (int) Math.max(1, timeoutMillis - waited);
  }

  private void take(Sent sent, Object reply) {
    heardAt = System.nanoTime();
    if (reply instanceof JedisNoScriptException && !sent.whole()) {
      unknown.add(sent);
      return;
    }
    Request request = sent.request();
    forget(request);
    try {
      request.answered(reply);
    } catch (RuntimeException | Error e) {
      // The other requests still get their answers.
      request.failed(bug(e), false);
    }
  }

  /**
   * Sends the source of the scripts that the server did not know. Behind a request, its withdrawal
   * may have been sent meanwhile.
   */
  private void sendWhole(NodeLine line) {
    List<Sent> again = List.copyOf(unknown);
    unknown.clear();
    for (Sent sent : again) {
      if (sent.request().isVoid()) {
        sent.request().failed(failures.passing("it was withdrawn before it was sent", null), false);
      } else {
        owed.add(new Sent(sent.request(), sent.call(), true, System.nanoTime()));
        line.write(sent.call(), true);
      }
    }
  }

  private void forget(Request request) {
    String releaseId = request.releaseId();
    if (releaseId != null) {
      pending.remove(releaseId);
    }
  }

  private boolean broken(boolean fresh, JedisConnectionException e) {
    List<Request> sent = unanswered();
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

  /** Delivers what it can within a node's time-out, and ends. */
  @Override
  public void close() {
    closed = true;
    call();
  }

  void awaitEnd() throws InterruptedException {
    thread.join(timeoutMillis);
    Connection last = connection;
    if (thread.isAlive() && last != null) {
      NodeLine.disconnect(last);
    }
  }
}
