package dev.interlock.redlock;

import dev.interlock.LockException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.NotSentException;
import dev.interlock.redis.server.Script;
import dev.interlock.spi.DaemonThreads;
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
 * <p>As long as nothing is queued and nothing goes wrong, a caller may use the connection itself,
 * see {@link CallerIo}. The next user reads the replies that it did not wait for. Whatever takes
 * time, such as connecting, or may fail twice is left to the pipeline's thread.
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

  /** A request. Called by the thread that uses the connection, {@link #failed} by any thread. */
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

    /** Whether its sender has withdrawn it, so that it must not be sent again. */
    default boolean isWithdrawn() {
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

  /** Only the pipeline's thread takes from it. */
  private final Queue<Request> queue = new ConcurrentLinkedQueue<>();

  private final Thread thread;

  private record Problem(LockException what, long at) {}

  private volatile @Nullable Problem problem;
  private volatile long wantedAt = System.nanoTime() - WANTED;
  private volatile boolean closed;

  /** Whether the thread has something to do beside the queue. */
  private volatile boolean otherWork;

  private volatile @Nullable Connection connection;

  /** Guards the connection and all fields below. */
  private final ReentrantLock ioLock = new ReentrantLock();

  /**
   * A request that was sent.
   *
   * @param withSource whether the script's source was sent
   */
  private record Sent(Request request, Call call, boolean withSource, long at) {}

  private @Nullable NodeTransport current;

  /** What was sent and has not been answered, oldest first. */
  private final ArrayDeque<Sent> inFlight = new ArrayDeque<>();

  /** Requests whose script the server did not know. */
  private final List<Sent> unknownScripts = new ArrayList<>();

  /** What went wrong during a caller's own I/O, for the thread to deal with. */
  private @Nullable Throwable callerFailure;

  /** Whether the socket took only part of a caller's request; the thread sends the rest. */
  private boolean partlySent;

  /** Null until a caller has used the connection itself. */
  private @Nullable CallerIo callerIo;

  private long lastReplyAt = System.nanoTime();

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
    this.thread =
        DaemonThreads.factory("interlock-redlock-pipeline").newThread(this::workUntilClosed);
    thread.setName("interlock-redlock-" + name);
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

  private void wakeThread() {
    otherWork = true;
    LockSupport.unpark(thread);
  }

  // --- a caller's own I/O -----------------------------------------------------------------------

  /**
   * Gives the connection to the calling thread, unless it is in use or needs the pipeline's thread.
   */
  boolean enter(CallerIo by) {
    if (!queue.isEmpty() || !ioLock.tryLock()) {
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
        ioLock.unlock();
      }
    }
  }

  private boolean isFitFor(CallerIo by) throws IOException {
    if (closed
        || !queue.isEmpty()
        || needsThread()
        || !(current instanceof ChannelTransport transport)) {
      return false;
    }
    long now = System.nanoTime();
    Sent oldest = inFlight.peek();
    if (oldest != null ? now - oldest.at() > CallerIo.MAX_WAIT : now - usedAt > LONGEST_REST) {
      return false;
    }
    callerIo = by;
    transport.listenOn(by.selector(), this);
    return true;
  }

  private boolean needsThread() {
    return callerFailure != null || partlySent || !unknownScripts.isEmpty();
  }

  /** Whether the calling thread has the connection. */
  boolean isEntered() {
    return ioLock.isHeldByCurrentThread();
  }

  /** Sends it at once, from a thread that has the connection. */
  void sendNow(Request request) {
    if (needsThread() || !(current instanceof ChannelTransport transport)) {
      send(request);
      return;
    }
    boolean isOwed = false;
    try {
      Call call = prepared(request);
      if (call != null) {
        usedAt = System.nanoTime();
        wantedAt = usedAt;
        inFlight.add(new Sent(request, call, false, usedAt));
        isOwed = true;
        transport.write(call, false);
        partlySent = !transport.flush();
      }
    } catch (IOException | RuntimeException | Error e) {
      callerFailure = e;
      if (!isOwed) {
        send(request); // a bug or a lack of memory, which the thread reports
      }
    }
  }

  /** Delivers the replies that have arrived, on a thread that has the connection. */
  void receive() {
    if (needsThread() || !(current instanceof ChannelTransport transport)) {
      return;
    }
    try {
      transport.fill();
      Object reply = transport.next();
      while (reply != ChannelTransport.NOT_YET) {
        take(inFlight.remove(), reply);
        reply = transport.next();
      }
    } catch (IOException | RuntimeException | Error e) {
      callerFailure = e;
    }
  }

  /** Whether the caller has nothing more to wait for here. */
  boolean isDone() {
    return inFlight.isEmpty() || needsThread();
  }

  /** Whether the caller should leave it to others now. */
  boolean isWantedByOthers() {
    return needsThread() || (inFlight.isEmpty() && !queue.isEmpty());
  }

  /**
   * Gives the connection back.
   *
   * @param handOff whether the pipeline's thread is to wait for the missing replies
   * @return whether replies are missing that no thread has been asked to read
   */
  boolean leave(boolean handOff) {
    boolean unread = !inFlight.isEmpty();
    boolean wake = needsThread() || (unread && handOff);
    ioLock.unlock();
    if (wake) {
      wakeThread();
    }
    return unread && !wake;
  }

  /** Reads replies that callers did not wait for; returns whether more are missing. */
  boolean sweep() {
    if (!ioLock.tryLock()) {
      return false; // its user reports what it leaves
    }
    boolean overdue = false;
    boolean unread;
    try {
      if (!inFlight.isEmpty()) {
        receive();
        Sent oldest = inFlight.peek();
        overdue = oldest != null && System.nanoTime() - oldest.at() > CallerIo.MAX_WAIT;
      }
    } finally {
      unread = leave(overdue);
    }
    return unread;
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
      if (queue.isEmpty() && !otherWork && !closed) {
        LockSupport.parkNanos(this, rest);
      }
      otherWork = false;
      List<Request> batch = new ArrayList<>();
      ioLock.lock();
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
        ioLock.unlock();
      }
    }
    ioLock.lock();
    try {
      settle();
    } finally {
      disconnect();
      ioLock.unlock();
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
    unknownScripts.forEach(sent -> requests.add(sent.request()));
    inFlight.forEach(sent -> requests.add(sent.request()));
    unknownScripts.clear();
    inFlight.clear();
    callerFailure = null;
    return requests;
  }

  /** Deals with what callers have left: failures, and replies that they did not wait for. */
  private void settle() {
    if (current instanceof ChannelTransport transport) {
      transport.stopListening();
    }
    Throwable failure = callerFailure;
    callerFailure = null;
    partlySent = false;
    if (failure == null) {
      collect(false);
    } else {
      broken(
          false,
          failure instanceof JedisConnectionException known
              ? known
              : new JedisConnectionException(failure));
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
      failures.noteAdmission();
      current = NodeTransport.over(made);
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
    NodeTransport transport = current;
    connection = null;
    current = null;
    if (transport != null) {
      transport.close();
    } else if (old != null) {
      NodeTransport.disconnect(old);
    }
    CallerIo last = callerIo;
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
    NodeTransport transport = current;
    if (transport == null) {
      throw new IllegalStateException("not connected");
    }
    usedAt = System.nanoTime();
    try {
      for (Request request : batch) {
        Call call = prepared(request);
        if (call != null) {
          inFlight.add(new Sent(request, call, false, usedAt));
          transport.write(call, false);
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
      while (current != null && !(inFlight.isEmpty() && unknownScripts.isEmpty())) {
        while (!inFlight.isEmpty()) {
          Object reply = current.read(untilTimeout(inFlight.element()));
          take(inFlight.remove(), reply);
        }
        sendWithSource(current);
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
    long since = next.at() - lastReplyAt > 0 ? next.at() : lastReplyAt;
    long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - since);
    return (int) Math.max(1, timeoutMillis - waited);
  }

  private void take(Sent sent, Object reply) {
    lastReplyAt = System.nanoTime();
    if (reply instanceof JedisNoScriptException && !sent.withSource()) {
      unknownScripts.add(sent);
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
   * Repeats, with the source, calls whose script the server did not know. Those that were withdrawn
   * are left out: their release may have been sent meanwhile, and must come last.
   */
  private void sendWithSource(NodeTransport transport) {
    List<Sent> again = List.copyOf(unknownScripts);
    unknownScripts.clear();
    for (Sent sent : again) {
      if (sent.request().isWithdrawn()) {
        sent.request().failed(failures.passing("it was withdrawn before it was sent", null), false);
      } else {
        inFlight.add(new Sent(sent.request(), sent.call(), true, System.nanoTime()));
        transport.write(sent.call(), true);
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
    wakeThread();
  }

  void awaitEnd() throws InterruptedException {
    thread.join(timeoutMillis);
    Connection last = connection;
    if (thread.isAlive() && last != null) {
      NodeTransport.disconnect(last);
    }
  }
}
