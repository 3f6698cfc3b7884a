package dev.interlock.redis;

import dev.interlock.redis.Nodes.Talk;
import dev.interlock.redis.Wire.Call;
import dev.interlock.redis.server.VirtualThreads;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Sends simultaneous requests of many threads together: one write and one read for many requests.
 *
 * <p>While only a few threads send requests, each uses its own connection, which is faster then.
 * Above that number, requests go into a queue, and one of two lanes, each a thread with a
 * connection while there is something to do, sends all that are queued and hands out the replies.
 * While one lane waits for the server, the next requests gather for the other, so that the server
 * always has work. A distant server gets more lanes, so that requests need not wait long for the
 * next. Callers wait for their replies without touching a connection.
 *
 * <p>No caller depends on another one's request:
 *
 * <ul>
 *   <li>A caller waits until its own deadline.
 *   <li>An interrupt takes back a request that has not been sent. Otherwise the caller waits for
 *       the reply, as it does over its own connection, and keeps the interrupt. That breaks no
 *       connection, because virtual threads, whose interrupts do that, always go alone.
 *   <li>A request that is not sent soon, because earlier ones hang, is taken back and goes alone.
 *       How soon depends on how long the server takes to answer. Requests that all go alone over
 *       few connections, because the server is far away, would only wait for these.
 *   <li>When the connection breaks, the requests whose replies have not been read are in doubt.
 *       They are repeated over another connection where a single one would be, unless the caller
 *       has left.
 *   <li>A caller that leaves at its deadline cannot know whether the lane has written its request,
 *       and its undo may reach the server first. So the lane undoes an acquisition whose caller has
 *       left, over the same connection and right behind it, without waiting for replies in between.
 *       Like every release, the undo compares the claim's value.
 * </ul>
 */
final class JoinedRequests implements AutoCloseable {

  /** How many threads may go alone at the same time, if there are enough connections. */
  private static final int FEW = 8;

  private static final int LANES = 2;

  /** As many as a distant server may have, if there are enough connections. */
  private static final int MAX_LANES = 8;

  /** From this time between sending and the replies on, a server is distant. */
  private static final long MIN_DISTANT_NANOS = Duration.ofMillis(5).toNanos();

  /** Assumed before the first reply, when connections have to be made, too. */
  private static final long INITIAL_ROUND_TRIP_NANOS = Duration.ofMillis(50).toNanos();

  /** How long a lane's thread stays without work. */
  private static final Duration REST = Duration.ofSeconds(5);

  /** As {@code few}: requests are never joined. */
  static final int NEVER = Integer.MAX_VALUE;

  /**
   * How long a request may stay queued, and a reply may take, before callers go alone; four round
   * trips are added.
   */
  private static final Duration PATIENCE = Duration.ofMillis(50);

  private static final int MOST_AT_ONCE = 128;

  /** What a server reads at a time, and a connection buffers. */
  private static final int MOST_BYTES = 16 * 1024;

  /** The way to the server, over a connection lent to the calling thread. */
  interface Route {
    /** Talks until the deadline at most; may do so twice, as {@link PooledNode#use} says. */
    <T> T use(Deadline deadline, Talk<T> talk) throws InterruptedException;
  }

  private enum State {
    QUEUED,
    SENT,
    ANSWERED,
    FAILED,
    LEFT
  }

  private final Route route;
  private final int few;
  private final Duration patience;
  private final AtomicInteger asking = new AtomicInteger();
  private final Queue<Request> queue = new ConcurrentLinkedQueue<>();
  private final int lanes;
  private final int maxLanes;
  private final AtomicInteger busyLanes = new AtomicInteger();
  private final ThreadPoolExecutor threads;

  /**
   * How long lanes take to send and to get the replies, in ns. Falls at once and rises slowly, so
   * that a server that stood still for a while is not taken for a distant one.
   */
  private volatile long roundTrip = INITIAL_ROUND_TRIP_NANOS;

  /** After this the replies that a lane waits for are late; null since a lane has had its own. */
  private volatile @Nullable Deadline repliesDue;

  /**
   * Makes one that joins the requests of more than a few threads.
   *
   * @param few how many that is
   * @param connections how many the route has
   */
  JoinedRequests(Route route, int few, int connections) {
    this(route, few, LANES, Math.max(LANES, Math.min(MAX_LANES, connections - few)), PATIENCE);
  }

  /** For tests, which may need more patience, and to know what goes together. */
  JoinedRequests(Route route, int few, int lanes, Duration patience) {
    this(route, few, lanes, lanes, patience);
  }

  private JoinedRequests(Route route, int few, int lanes, int maxLanes, Duration patience) {
    this.route = route;
    this.few = few;
    this.lanes = lanes;
    this.maxLanes = maxLanes;
    this.patience = patience;
    this.threads = DaemonThreads.several("interlock-redis-lane", maxLanes, REST);
  }

  /**
   * Runs a script that may be carried out twice.
   *
   * @return the server's reply
   * @throws InterruptedException if the thread was interrupted before the request was sent
   */
  Object run(Call call, Deadline deadline) throws InterruptedException {
    if (few == NEVER || VirtualThreads.isCurrent()) {
      return alone(call, deadline);
    }
    int number = asking.incrementAndGet();
    try {
      if (number > few) {
        Request request = new Request(call, deadline);
        if (joined(request)) {
          return request.reply();
        }
      }
      return alone(call, deadline);
    } finally {
      asking.decrementAndGet();
    }
  }

  /** Returns how many threads may go alone, so that none has to wait for a connection as a rule. */
  static int few(int connections) {
    return Math.max(1, Math.min(FEW, connections - LANES));
  }

  /** Returns how many requests lie in the queue. */
  int queued() {
    return queue.size();
  }

  private Object alone(Call call, Deadline deadline) throws InterruptedException {
    return route.use(deadline, wire -> wire.run(call));
  }

  /** One caller's request. Its state synchronizes the caller and the lane. */
  private static final class Request {
    final Call call;
    final Deadline deadline;
    private final Thread caller = Thread.currentThread();
    private final AtomicReference<State> state = new AtomicReference<>(State.QUEUED);
    private @Nullable Object reply;
    private @Nullable RuntimeException problem;

    /** Whether it may be on the server. Used by the lane that has it. */
    private boolean went;

    Request(Call call, Deadline deadline) {
      this.call = call;
      this.deadline = deadline;
    }

    boolean isQueued() {
      return state.get() == State.QUEUED;
    }

    boolean hasEnded() {
      State now = state.get();
      return now == State.ANSWERED || now == State.FAILED;
    }

    /** Whether to send it now: its caller still waits, and it was not sent, or in vain. */
    boolean goes() {
      boolean goes = state.get() == State.SENT || state.compareAndSet(State.QUEUED, State.SENT);
      went |= goes;
      return goes;
    }

    /** Returns what undoes it for a caller that has left; null if there is nothing to undo. */
    @Nullable Call undo() {
      return went && state.get() == State.LEFT ? call.undo() : null;
    }

    void answered(Object answer) {
      reply = answer;
      end(State.ANSWERED);
    }

    /** Ends it, unless it has been answered or its caller has left. */
    void failed(RuntimeException why) {
      if (!hasEnded()) {
        problem = why;
        end(State.FAILED);
      }
    }

    private void end(State end) {
      if (state.compareAndSet(State.SENT, end) || state.compareAndSet(State.QUEUED, end)) {
        wake();
      }
    }

    void wake() {
      if (caller != Thread.currentThread()) {
        LockSupport.unpark(caller);
      }
    }

    /** Leaves while it has not been sent. */
    boolean takeBack() {
      return state.compareAndSet(State.QUEUED, State.LEFT);
    }

    /** Leaves although it has been sent; false if it has ended meanwhile. */
    boolean abandon() {
      return state.compareAndSet(State.SENT, State.LEFT);
    }

    Object reply() {
      RuntimeException why = problem;
      if (why != null) {
        throw why;
      }
      Object answer = reply;
      if (answer instanceof JedisDataException error) {
        throw error;
      }
      if (answer == null) {
        throw new IllegalStateException("a request ended with nothing");
      }
      return answer;
    }
  }

  /**
   * Sends the calling thread's request, or waits until it has been sent and answered.
   *
   * @return false if it was taken back, and has to go alone
   * @throws JedisConnectionException if the deadline has passed; whether the request is carried out
   *     is not known
   */
  private boolean joined(Request mine) throws InterruptedException {
    Deadline due = repliesDue;
    if (threads.isShutdown() || (due != null && due.hasPassed())) {
      return false;
    }
    queue.add(mine);
    startLane();
    boolean interrupted = false;
    try {
      Deadline sentBy = mine.deadline.orIn(patience());
      while (!mine.hasEnded()) {
        if (Thread.interrupted()) {
          if (takeBack(mine)) {
            throw new InterruptedException();
          }
          interrupted = true;
        }
        boolean queued = mine.isQueued();
        long left = (queued ? sentBy : mine.deadline).remainingNanos();
        if (left > 0) {
          LockSupport.parkNanos(this, left);
        } else if (queued && takeBack(mine)) {
          return false;
        } else if (!queued && mine.abandon()) {
          throw new JedisConnectionException(
              "no answer in time", new SocketTimeoutException("the caller's time was up"));
        }
      }
      return true;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private boolean takeBack(Request mine) {
    if (!mine.takeBack()) {
      return false;
    }
    queue.remove(mine);
    return true;
  }

  /** Lets a lane serve the queue, if one is idle. */
  private void startLane() {
    if (!enterLane()) {
      return; // Each lane looks at the queue again after it has become idle.
    }
    boolean started = false;
    try {
      threads.execute(this::serve);
      started = true;
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // Closed, or no thread can be created. Who is not served in time goes alone.
    } finally {
      if (!started) {
        busyLanes.decrementAndGet();
      }
    }
  }

  private boolean enterLane() {
    int limit = roundTrip < MIN_DISTANT_NANOS ? lanes : maxLanes;
    int busy = busyLanes.get();
    while (busy < limit) {
      if (busyLanes.compareAndSet(busy, busy + 1)) {
        return true;
      }
      busy = busyLanes.get();
    }
    return false;
  }

  private void serve() {
    try {
      List<Request> batch = batch();
      while (!batch.isEmpty()) {
        send(batch);
        batch = batch();
      }
    } finally {
      busyLanes.decrementAndGet();
      if (!queue.isEmpty()) {
        startLane();
      }
    }
  }

  private List<Request> batch() {
    List<Request> batch = new ArrayList<>();
    int bytes = 0;
    Request next = queue.poll();
    while (next != null) {
      batch.add(next);
      bytes += next.call.size();
      next = batch.size() < MOST_AT_ONCE && bytes < MOST_BYTES ? queue.poll() : null;
    }
    return batch;
  }

  private void send(List<Request> batch) {
    Deadline last = batch.get(0).deadline;
    for (Request request : batch) {
      if (request.deadline.nanos() - last.nanos() > 0) {
        last = request.deadline;
      }
    }
    repliesDue = last.orIn(patience());
    RuntimeException problem = null;
    long start = System.nanoTime();
    try {
      route.use(last, wire -> exchange(wire, batch));
      measure(System.nanoTime() - start);
    } catch (InterruptedException e) {
      problem = new JedisException(e); // Nobody interrupts a lane.
    } catch (RuntimeException e) {
      problem = e;
    } catch (Error e) {
      problem = new JedisException(e);
    } finally {
      repliesDue = null;
    }
    if (problem != null) {
      for (Request request : batch) {
        request.failed(problem);
      }
    }
  }

  private Duration patience() {
    return patience.plusNanos(4 * roundTrip);
  }

  private void measure(long nanos) {
    long before = roundTrip;
    roundTrip = nanos < before ? nanos : before + (nanos - before) / 8;
  }

  private boolean exchange(Wire wire, List<Request> batch) {
    List<Request> sent = new ArrayList<>(batch.size());
    List<Call> calls = new ArrayList<>(batch.size());
    for (Request request : batch) {
      if (request.goes()) {
        sent.add(request);
        calls.add(request.call);
      }
    }
    wire.runAll(calls, (reply, index) -> sent.get(index).answered(reply), () -> undoingsFor(batch));
    return true;
  }

  /** Undoes the requests of callers that have left. They send the same, and see refusals. */
  private static List<Call> undoingsFor(List<Request> batch) {
    List<Call> undoings = List.of();
    for (Request request : batch) {
      Call undo = request.undo();
      if (undo != null) {
        if (undoings.isEmpty()) {
          undoings = new ArrayList<>();
        }
        undoings.add(undo);
      }
    }
    return undoings;
  }

  /** Lets the lanes' threads end. Requests that come later go alone. */
  @Override
  public void close() {
    threads.shutdown();
  }
}
