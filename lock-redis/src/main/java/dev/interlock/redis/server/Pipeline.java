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
 * The queue of requests to one server, and the connection to it. All but {@link #enqueue} is called
 * by the thread that serves the {@link Pipelines}. Connections are made on a thread of their own.
 *
 * <p>An idle connection does not notice that the server has closed it. So if one turns out to be
 * broken before a reply was late, what was sent over it is repeated over a new one. Releases that
 * could not be delivered are kept until they are delivered or the lock has expired, and go first
 * over the next connection.
 */
final class Pipeline {

  private static final Logger log = LoggerFactory.getLogger(Pipeline.class);

  private static final int MAX_IN_FLIGHT = 256;
  private static final int MAX_PENDING = 10_000;
  private static final long FIRST_PAUSE = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long MAX_PAUSE = TimeUnit.MILLISECONDS.toNanos(150);

  /** For how long a problem fails new requests, while connecting goes on. */
  private static final long NEWS = TimeUnit.SECONDS.toNanos(2);

  /** For how long to try to reach a server after the last request. */
  private static final long WANTED = TimeUnit.SECONDS.toNanos(10);

  /** After this time a firewall may have dropped a connection without a message to either end. */
  private static final long MAX_REST = TimeUnit.MINUTES.toNanos(1);

  private final Pipelines all;
  private final Server server;
  private final long timeout;
  private final ExecutorService connecting;

  private final Queue<Request> queue = new ConcurrentLinkedQueue<>();

  private record Problem(RuntimeException what, long at) {}

  private volatile @Nullable Problem problem;
  private volatile long wantedAt = System.nanoTime() - WANTED;

  /** The end of connecting: a {@link Link}, or why there is none. */
  private final AtomicReference<@Nullable Object> outcome = new AtomicReference<>();

  private volatile boolean ended;

  // The rest is for the thread that serves.

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

  /** Whether nothing more is to be sent over this connection. */
  private boolean isLost;

  /** What was sent and has not been answered, oldest first. */
  private final Deque<Sent> inFlight = new ArrayDeque<>();

  /** What goes before the queue, because it was sent in vain. */
  private final Deque<Request> again = new ArrayDeque<>();

  /** Releases that could not be delivered. */
  private final Map<Object, Request> pending = new LinkedHashMap<>();

  private long usedAt;
  private long lastReplyAt = System.nanoTime();
  private long pause = FIRST_PAUSE;
  private long nextTry = System.nanoTime();

  Pipeline(Pipelines all, String name, Server server, Duration timeout) {
    this.all = all;
    this.server = server;
    this.timeout = timeout.toNanos();
    this.connecting = DaemonThreads.several(name + "-connecting", 1, Duration.ofSeconds(2));
  }

  /** Takes a request from any thread; returns whether it is to be served, and has not failed. */
  boolean enqueue(Request request) {
    long now = System.nanoTime();
    // Well before connecting ends, which may be about to give up.
    boolean isTrying = now - wantedAt < WANTED / 2;
    wantedAt = now;
    Problem known = problem;
    if (all.isClosed()) {
      request.failed(closed());
    } else if (isTrying && known != null && isNews(known) && request.releaseId() == null) {
      request.failed(known.what());
    } else {
      queue.add(request);
      if (!ended || !queue.remove(request)) {
        return true;
      }
      request.failed(closed());
    }
    return false;
  }

  private static boolean isNews(Problem known) {
    return System.nanoTime() - known.at() < NEWS;
  }

  private static NotSentException closed() {
    return new NotSentException("the client is closed", null);
  }

  /** Whether something is to be sent or read. */
  boolean isBusy() {
    return transport != null && hasRequests();
  }

  private boolean hasRequests() {
    return !(inFlight.isEmpty() && queue.isEmpty() && again.isEmpty());
  }

  /**
   * Does what can be done without waiting. Failures are those of the requests.
   *
   * @return after how many ns there is more to do, unless something happens before
   */
  long serve() {
    try {
      exchange();
      return untilNextChore();
    } catch (RuntimeException | Error e) {
      // The next reply may belong to an earlier request. It disconnects first, because there may be
      // no memory for the rest.
      disconnect(true);
      JedisException what = bug(e);
      down(what);
      fail(unanswered(), what);
      return FIRST_PAUSE;
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
        checkTimes();
      }
      if (transport != null) {
        send(transport);
      }
      if (transport == null) {
        connectOrFail();
      }
    } catch (JedisConnectionException e) {
      broken(e);
    } catch (IOException e) {
      broken(new JedisConnectionException(e));
    }
  }

  private long untilNextChore() {
    long now = System.nanoTime();
    Sent oldest = inFlight.peek();
    if (transport != null) {
      return oldest == null ? usedAt + MAX_REST - now : waitingSince(oldest) + timeout - now;
    }
    return !isConnecting && isWanted() ? nextTry - now : MAX_REST;
  }

  private JedisException bug(Throwable e) {
    log.error("replies of {} were lost, because of a bug or a lack of memory", server.name(), e);
    return new JedisException("a bug: " + e, e);
  }

  // --- connecting -------------------------------------------------------------------------------

  private void connectOrFail() {
    Problem known = problem;
    if (all.isClosed()) {
      fail(waiting(), closed());
    } else if (!isConnecting && (isWanted() || hasRequests())) {
      if (nextTry - System.nanoTime() <= 0) {
        connecting.execute(this::connect);
        isConnecting = true;
      } else if (known != null && isNews(known)) {
        fail(waiting(), known.what());
      }
    }
  }

  private boolean isWanted() {
    pending.values().removeIf(release -> release.sendBefore().hasPassed());
    return !pending.isEmpty() || System.nanoTime() - wantedAt < WANTED;
  }

  private void connect() {
    try {
      outcome.set(server.connect());
    } catch (RuntimeException | Error e) {
      outcome.set(e);
    }
    if (ended) {
      discard(outcome.getAndSet(null));
    }
    all.wake();
  }

  private void discard(@Nullable Object made) {
    if (made instanceof Link link) {
      Transport.disconnect(link.connection());
      server.disconnected(false);
    }
  }

  private void takeConnection() throws IOException {
    Object made = outcome.getAndSet(null);
    if (made == null) {
      return;
    }
    isConnecting = false;
    if (made instanceof Link link && !all.isClosed()) {
      // There are none, unless there was no memory to fail them.
      fail(unanswered(), new JedisException("the reply was lost"));
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
      isLost = false;
      usedAt = System.nanoTime();
      problem = null;
      pause = FIRST_PAUSE;
      Set<Request> first = new LinkedHashSet<>(pending.values());
      first.addAll(again);
      again.clear();
      again.addAll(first);
      server.connected(process);
    } else if (made instanceof Link) {
      discard(made);
    } else {
      RuntimeException what =
          made instanceof JedisException || made instanceof LockException
              ? (RuntimeException) made
              : bug((Throwable) made);
      down(what);
      fail(waiting(), what);
    }
  }

  private void down(RuntimeException what) {
    problem = new Problem(what, System.nanoTime());
    nextTry = System.nanoTime() + pause;
    pause = Math.min(MAX_PAUSE, pause * 2);
  }

  private void disconnect(boolean broken) {
    Transport old = transport;
    transport = null;
    if (old != null) {
      old.close();
      server.disconnected(broken);
      all.selectNow();
    }
  }

  private void broken(JedisConnectionException e) {
    boolean isRepeated = isProven && !Failures.isTimeout(e) && !all.isClosed();
    disconnect(true);
    List<Request> sent = unanswered();
    if (!isRepeated) {
      down(e);
      fail(sent, e);
      return;
    }
    List<Request> inVain = new ArrayList<>();
    for (Request request : sent) {
      (request.isRepeatable() ? again : inVain).add(request);
    }
    fail(inVain, e);
    connectOrFail();
  }

  /** Delivers nothing more. */
  void end() {
    ended = true;
    discard(outcome.getAndSet(null));
    disconnect(false);
    connecting.shutdown();
    fail(unanswered(), closed());
    fail(waiting(), closed());
  }

  // --- requests ---------------------------------------------------------------------------------

  private void send(Transport to) throws IOException {
    while (!isLost && inFlight.size() < MAX_IN_FLIGHT) {
      Request next = again.isEmpty() ? queue.poll() : again.remove();
      if (next == null) {
        break;
      }
      ScriptCall call = prepared(next);
      if (call != null) {
        usedAt = System.nanoTime();
        inFlight.add(new Sent(next, call, false, usedAt));
        to.write(call, false);
      }
    }
    to.flush();
    if (isLost && inFlight.isEmpty()) {
      disconnect(true);
    }
  }

  /** Returns what to send, or null if the request is not to be sent. */
  private @Nullable ScriptCall prepared(Request request) {
    if (request.sendBefore().hasPassed()) {
      forget(request);
      request.failed(
          new NotSentException(
              "the deadline passed before the request was sent", new SocketTimeoutException()));
      return null;
    }
    ScriptCall call = null;
    try {
      call = request.call(process);
    } catch (RuntimeException | Error e) {
      request.failed(bug(e));
    }
    if (call == null) {
      forget(request);
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
        teach(from, sent);
      } else {
        answer(sent.request(), reply);
      }
      reply = from.next();
    }
  }

  /**
   * Repeats, with the source, a call whose script the server did not know. Not if it was withdrawn:
   * its release may have been sent meanwhile, and must come last.
   */
  private void teach(Transport to, Sent sent) {
    Request request = sent.request();
    if (request.isWithdrawn()) {
      request.failed(new NotSentException("the request was withdrawn before it was sent", null));
    } else {
      inFlight.add(new Sent(request, sent.call(), true, lastReplyAt));
      to.write(sent.call(), true);
    }
  }

  private void answer(Request request, Object reply) {
    forget(request);
    isLost |= reply instanceof JedisDataException error && server.isLostAfter(error);
    try {
      request.answered(reply);
    } catch (RuntimeException | Error e) {
      // The other requests still get their answers.
      request.failed(bug(e));
    }
  }

  private void checkTimes() {
    if (isLate()) {
      throw new JedisConnectionException(new SocketTimeoutException("no reply in time"));
    }
    if (inFlight.isEmpty() && System.nanoTime() - usedAt > MAX_REST) {
      disconnect(false);
    }
  }

  private boolean isLate() {
    Sent oldest = inFlight.peek();
    return oldest != null && System.nanoTime() - waitingSince(oldest) > timeout;
  }

  /** The time-out begins again with each answer. */
  private long waitingSince(Sent next) {
    return next.at() - lastReplyAt > 0 ? next.at() : lastReplyAt;
  }

  /** Takes all requests that were sent and not answered. */
  private List<Request> unanswered() {
    List<Request> requests = inFlight.stream().map(Sent::request).toList();
    inFlight.clear();
    return requests;
  }

  /** Takes all requests that are to be sent. */
  private List<Request> waiting() {
    List<Request> requests = new ArrayList<>(again);
    again.clear();
    for (Request next = queue.poll(); next != null; next = queue.poll()) {
      requests.add(next);
    }
    return requests;
  }

  private void fail(List<Request> requests, RuntimeException what) {
    for (Request request : requests) {
      owe(request);
      request.failed(what);
    }
  }

  private void owe(Request request) {
    Object releaseId = request.releaseId();
    if (releaseId != null && !request.sendBefore().hasPassed()) {
      pending.put(releaseId, request);
      if (pending.size() > MAX_PENDING) {
        pending.remove(pending.keySet().iterator().next());
      }
    }
  }

  private void forget(Request request) {
    Object releaseId = request.releaseId();
    if (releaseId != null) {
      pending.remove(releaseId);
    }
  }
}
