package dev.interlock.redis.server;

import dev.interlock.LockException;
import dev.interlock.redis.server.Server.Link;
import dev.interlock.spi.DaemonThreads;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * The queue of requests to one server, and the connection to it. The thread that serves the {@link
 * Pipelines} calls every method except {@link #enqueue}. Another thread makes the connections.
 *
 * <p>An idle connection does not notice that the server has closed it. So when a connection breaks
 * without a time-out, the requests that were sent over it are repeated over a new one. A release
 * that could not be delivered is kept until it is delivered or the lock has expired. The next
 * connection sends these releases first.
 */
final class Pipeline {

  private static final Logger log = LoggerFactory.getLogger(Pipeline.class);

  private static final int MAX_IN_FLIGHT = 256;
  private static final int MAX_UNDELIVERED = 10_000;
  private static final long MIN_PAUSE = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long MAX_PAUSE = TimeUnit.MILLISECONDS.toNanos(150);

  /** New requests fail with the last problem for this long, while connecting goes on. */
  private static final long MAX_PROBLEM_AGE = TimeUnit.SECONDS.toNanos(2);

  /** Connecting goes on for this long after the last request. */
  private static final long CONNECT_FOR = TimeUnit.SECONDS.toNanos(10);

  /** After this time a firewall may have dropped a connection without a message to either end. */
  private static final long MAX_IDLE = TimeUnit.MINUTES.toNanos(1);

  private final Pipelines all;
  private final Server server;
  private final long timeout;
  private final ExecutorService connecting;

  private final Queue<Request> queue = new ConcurrentLinkedQueue<>();

  private record Problem(RuntimeException cause, long at) {}

  private volatile @Nullable Problem problem;
  private volatile long lastRequestAt = System.nanoTime() - CONNECT_FOR;

  /** The result of connecting: a {@link Link}, or an exception. */
  private final AtomicReference<@Nullable Object> connectResult = new AtomicReference<>();

  private volatile boolean ended;

  // Only the thread that serves uses the following fields.

  /**
   * A request that was sent.
   *
   * @param withSource whether the script's source was sent
   */
  private record Sent(Request request, ScriptCall call, boolean withSource, long at) {}

  private boolean isConnecting;
  private @Nullable Transport transport;
  private String process = "";

  /** Whether a reply has come over this connection. */
  private boolean isProven;

  /** Whether this connection is closed as soon as its requests are answered. */
  private boolean isRetired;

  /** The requests that were sent and are not answered, oldest first. */
  private final Deque<Sent> inFlight = new ArrayDeque<>();

  /** The requests to send before those of the queue: the last connection broke before a reply. */
  private final Deque<Request> toRepeat = new ArrayDeque<>();

  /** Releases that could not be delivered. */
  private final Map<Object, Request> undelivered = new LinkedHashMap<>();

  private long usedAt;
  private long lastReplyAt = System.nanoTime();
  private long pause = MIN_PAUSE;
  private long nextTry = System.nanoTime();

  Pipeline(Pipelines all, String name, Server server, Duration timeout) {
    this.all = all;
    this.server = server;
    this.timeout = timeout.toNanos();
    this.connecting = DaemonThreads.several(name + "-connecting", 1, Duration.ofSeconds(2));
  }

  /** Queues a request of any thread. Returns false if the request has failed at once. */
  boolean enqueue(Request request) {
    long now = System.nanoTime();
    // Half the time, because connecting may be about to end.
    boolean isTrying = now - lastRequestAt < CONNECT_FOR / 2;
    lastRequestAt = now;
    Problem recent = problem;
    if (all.isClosed()) {
      request.fail(closed());
    } else if (isTrying && recent != null && isRecent(recent) && request.releaseId() == null) {
      request.fail(recent.cause());
    } else {
      queue.add(request);
      if (!ended || !queue.remove(request)) {
        return true;
      }
      request.fail(closed());
    }
    return false;
  }

  private static boolean isRecent(Problem recent) {
    return System.nanoTime() - recent.at() < MAX_PROBLEM_AGE;
  }

  private static NotSentException closed() {
    return new NotSentException("the lock client is closed", null);
  }

  /** Whether there are requests to send, or replies to read. */
  boolean isBusy() {
    return transport != null && hasRequests();
  }

  private boolean hasRequests() {
    return !(inFlight.isEmpty() && queue.isEmpty() && toRepeat.isEmpty());
  }

  /**
   * Sends and reads as much as is possible without waiting. A failure fails the requests, not this
   * call.
   *
   * @return the nanoseconds until there is more work, unless a request or a reply comes earlier
   */
  long serve() {
    try {
      exchange();
      return nanosUntilNextWork();
    } catch (RuntimeException | Error e) {
      // The next reply may belong to an earlier request. Disconnecting comes first, because there
      // may be no memory for the other steps.
      disconnect(true);
      JedisException what = bug(e);
      recordProblem(what);
      fail(takeUnanswered(), what);
      return MIN_PAUSE;
    }
  }

  private void exchange() {
    try {
      takeConnection();
      if (transport != null) {
        receive(transport);
        if (isLate()) {
          // The reply may have come while this process was paused.
          all.selectNow();
          receive(transport);
        }
        checkTimeouts();
      }
      if (transport != null) {
        send(transport);
      }
      if (transport == null) {
        connectOrFail();
      }
    } catch (JedisConnectionException e) {
      handleBreak(e);
    } catch (IOException e) {
      handleBreak(new JedisConnectionException(e));
    }
  }

  private long nanosUntilNextWork() {
    long now = System.nanoTime();
    Sent oldest = inFlight.peek();
    if (transport != null) {
      return oldest == null ? usedAt + MAX_IDLE - now : timeoutStart(oldest) + timeout - now;
    }
    return !isConnecting && shouldConnect() ? nextTry - now : MAX_IDLE;
  }

  private JedisException bug(Throwable e) {
    log.error("replies of {} were lost, because of a bug or a lack of memory", server.name(), e);
    return new JedisException("a bug: " + e, e);
  }

  // --- connecting -------------------------------------------------------------------------------

  private void connectOrFail() {
    Problem recent = problem;
    if (all.isClosed()) {
      fail(takeQueued(), closed());
    } else if (!isConnecting && (shouldConnect() || hasRequests())) {
      if (nextTry - System.nanoTime() <= 0) {
        connecting.execute(this::connect);
        isConnecting = true;
      } else if (recent != null && isRecent(recent)) {
        fail(takeQueued(), recent.cause());
      }
    }
  }

  private boolean shouldConnect() {
    undelivered.values().removeIf(release -> release.sendBefore().hasPassed());
    return !undelivered.isEmpty() || System.nanoTime() - lastRequestAt < CONNECT_FOR;
  }

  private void connect() {
    try {
      connectResult.set(server.connect());
    } catch (RuntimeException | Error e) {
      connectResult.set(e);
    }
    if (ended) {
      discard(connectResult.getAndSet(null));
    }
    all.wake();
  }

  private void discard(@Nullable Object result) {
    if (result instanceof Link link) {
      Transport.disconnect(link.connection());
      server.onDisconnected(false);
    }
  }

  private void takeConnection() throws IOException {
    Object result = connectResult.getAndSet(null);
    if (result == null) {
      return;
    }
    isConnecting = false;
    if (result instanceof Link link && !all.isClosed()) {
      // There are such requests only if there was no memory to fail them.
      fail(takeUnanswered(), new JedisException("the reply was lost"));
      boolean taken = false;
      try {
        transport = Transport.over(link.connection(), all.selector());
        taken = true;
      } finally {
        if (!taken) {
          discard(link);
        }
      }
      process = link.process();
      isProven = false;
      isRetired = false;
      usedAt = System.nanoTime();
      problem = null;
      pause = MIN_PAUSE;
      Set<Request> first = new LinkedHashSet<>(undelivered.values());
      first.addAll(toRepeat);
      toRepeat.clear();
      toRepeat.addAll(first);
      server.onConnected(process);
    } else if (result instanceof Link) {
      discard(result);
    } else {
      RuntimeException what =
          result instanceof JedisException || result instanceof LockException
              ? (RuntimeException) result
              : bug((Throwable) result);
      recordProblem(what);
      fail(takeQueued(), what);
    }
  }

  private void recordProblem(RuntimeException what) {
    problem = new Problem(what, System.nanoTime());
    nextTry = System.nanoTime() + pause;
    pause = Math.min(MAX_PAUSE, pause * 2);
  }

  private void disconnect(boolean broken) {
    Transport old = transport;
    transport = null;
    if (old != null) {
      old.close();
      server.onDisconnected(broken);
      all.selectNow();
    }
  }

  private void handleBreak(JedisConnectionException e) {
    boolean isRepeated = isProven && !Failures.isTimeout(e) && !all.isClosed();
    disconnect(true);
    List<Request> sent = takeUnanswered();
    if (!isRepeated) {
      recordProblem(e);
      fail(sent, e);
      return;
    }
    List<Request> unrepeatable = new ArrayList<>();
    for (Request request : sent) {
      (request.isRepeatable() ? toRepeat : unrepeatable).add(request);
    }
    fail(unrepeatable, e);
    connectOrFail();
  }

  /** Closes the connection, and fails the requests that remain. */
  void shutDown() {
    ended = true;
    discard(connectResult.getAndSet(null));
    disconnect(false);
    connecting.shutdown();
    fail(takeUnanswered(), closed());
    fail(takeQueued(), closed());
  }

  // --- requests ---------------------------------------------------------------------------------

  private void send(Transport to) throws IOException {
    while (!isRetired && inFlight.size() < MAX_IN_FLIGHT) {
      Request next = toRepeat.isEmpty() ? queue.poll() : toRepeat.remove();
      if (next == null) {
        break;
      }
      ScriptCall call = prepare(next);
      if (call != null) {
        usedAt = System.nanoTime();
        inFlight.add(new Sent(next, call, false, usedAt));
        to.write(call, false);
      }
    }
    to.flush();
    if (isRetired && inFlight.isEmpty()) {
      disconnect(true);
    }
  }

  /** Returns the call to send, or null if the request must not be sent. */
  private @Nullable ScriptCall prepare(Request request) {
    if (request.sendBefore().hasPassed()) {
      forgetRelease(request);
      request.fail(
          new NotSentException(
              "the deadline passed before the request was sent", new SocketTimeoutException()));
      return null;
    }
    ScriptCall call = null;
    try {
      call = request.call(process);
    } catch (RuntimeException | Error e) {
      request.fail(bug(e));
    }
    if (call == null) {
      forgetRelease(request);
    }
    return call;
  }

  private void receive(Transport from) throws IOException {
    if (!from.isReady()) {
      return;
    }
    Object reply = from.next();
    while (reply != Transport.NOT_YET) {
      Sent sent = inFlight.poll();
      if (sent == null) {
        throw new JedisConnectionException("the server sent a reply to no request");
      }
      lastReplyAt = System.nanoTime();
      isProven = true;
      if (reply instanceof JedisNoScriptException && !sent.withSource()) {
        resendWithSource(from, sent);
      } else {
        answer(sent.request(), reply);
      }
      reply = from.next();
    }
  }

  /**
   * Repeats a call with the source of its script, which the server did not know. A withdrawn
   * request is not repeated: its release may have been sent meanwhile, and must come last.
   */
  private void resendWithSource(Transport to, Sent sent) {
    Request request = sent.request();
    if (request.isWithdrawn()) {
      request.fail(new NotSentException("the request was withdrawn before it was sent", null));
    } else {
      inFlight.add(new Sent(request, sent.call(), true, lastReplyAt));
      to.write(sent.call(), true);
    }
  }

  private void answer(Request request, Object reply) {
    forgetRelease(request);
    isRetired |= reply instanceof JedisDataException error && server.isUnusableAfter(error);
    try {
      request.complete(reply);
    } catch (RuntimeException | Error e) {
      // The other requests still get their replies.
      request.fail(bug(e));
    }
  }

  private void checkTimeouts() {
    if (isLate()) {
      throw new JedisConnectionException(new SocketTimeoutException("no reply in time"));
    }
    if (inFlight.isEmpty() && System.nanoTime() - usedAt > MAX_IDLE) {
      disconnect(false);
    }
  }

  private boolean isLate() {
    Sent oldest = inFlight.peek();
    return oldest != null && System.nanoTime() - timeoutStart(oldest) > timeout;
  }

  /** The time-out starts again with each reply. */
  private long timeoutStart(Sent next) {
    return next.at() - lastReplyAt > 0 ? next.at() : lastReplyAt;
  }

  /** Removes and returns the requests that were sent and not answered. */
  private List<Request> takeUnanswered() {
    List<Request> requests = inFlight.stream().map(Sent::request).toList();
    inFlight.clear();
    return requests;
  }

  /** Removes and returns the requests that are still to be sent. */
  private List<Request> takeQueued() {
    List<Request> requests = new ArrayList<>(toRepeat);
    toRepeat.clear();
    for (Request next = queue.poll(); next != null; next = queue.poll()) {
      requests.add(next);
    }
    return requests;
  }

  private void fail(List<Request> requests, RuntimeException what) {
    for (Request request : requests) {
      keepRelease(request);
      request.fail(what);
    }
  }

  private void keepRelease(Request request) {
    Object releaseId = request.releaseId();
    if (releaseId != null && !request.sendBefore().hasPassed()) {
      undelivered.put(releaseId, request);
      if (undelivered.size() > MAX_UNDELIVERED) {
        undelivered.remove(undelivered.keySet().iterator().next());
      }
    }
  }

  private void forgetRelease(Request request) {
    Object releaseId = request.releaseId();
    if (releaseId != null) {
      undelivered.remove(releaseId);
    }
  }
}
