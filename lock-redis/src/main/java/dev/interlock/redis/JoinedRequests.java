package dev.interlock.redis;

import dev.interlock.redis.Nodes.Talk;
import dev.interlock.redis.Wire.Call;
import dev.interlock.spi.Deadline;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Sends what many threads ask at the same time together: one write and one read for many requests,
 * in place of one each.
 *
 * <p>As long as no more than a few threads ask, each does so by itself, over a connection of its
 * own; that is faster then. Above that, requests go into a queue. One of those who wait in it at a
 * time leads: it sends all that it finds, and hands out the replies; while it waits for them, the
 * next requests gather. It wakes the next leader as soon as the first reply is there, before it
 * wakes anybody else, so that the server has work again while the others are woken, which takes
 * longer than what the server does. (Flat combining, Hendler et al., SPAA 2010, with a server in
 * the place of the shared structure.) No thread is added, and a busy machine gives the queue as
 * much time as it gives the callers. One queue is faster than several, which send smaller batches.
 *
 * <p>Nobody depends on anybody else's request:
 *
 * <ul>
 *   <li>Whoever asks waits until his own deadline. A leader may be {@link #ALLOWANCE} late, as it
 *       takes along only those whose deadlines come no later than that.
 *   <li>An interrupt takes a request back that has not been sent. Otherwise the reply is waited
 *       for, as it is over a connection of one's own, and the interrupt is kept. It breaks no
 *       connection, because virtual threads, whose interrupts do that, always go alone.
 *   <li>A request that is not sent soon, because the ones before it hang, is taken back and goes
 *       alone.
 *   <li>When the connection breaks, those requests are in doubt whose reply has not been read. They
 *       are repeated over another connection where a single one would be, unless the one who asked
 *       has left.
 *   <li>Whoever leaves at his deadline cannot know whether the leader has written his request yet,
 *       and what he does to undo it may come before it to the server. So the leader itself takes
 *       back an acquisition whose caller has left, over the same connection and right behind it,
 *       without waiting for replies in between; it is guarded by the claim's value like every
 *       release.
 * </ul>
 */
final class JoinedRequests {

  /** So many may ask at the same time without being joined, if there are connections for them. */
  private static final int FEW = 32;

  /** One leader may still have replies to read when the next one begins. */
  private static final int LEADERS = 2;

  /** As {@code few}: requests are never joined. */
  static final int NEVER = Integer.MAX_VALUE;

  /** By how much a deadline may be later than the leader's. */
  private static final Duration ALLOWANCE = Duration.ofMillis(10);

  /** For how long a request lies in a queue, and replies stay out before the queue is passed by. */
  private static final Duration PATIENCE = Duration.ofMillis(50);

  private static final int MOST_AT_ONCE = 128;

  /** As much as a server reads at a time, and a connection takes without its other end. */
  private static final int MOST_BYTES = 16 * 1024;

  /** The way to the server, over a connection that is lent to the calling thread. */
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
  private final AtomicBoolean led = new AtomicBoolean();

  /** Until when the leader's replies are not late; null when none are waited for. */
  private volatile @Nullable Deadline repliesDue;

  /**
   * Makes one that joins the requests of more than a few threads.
   *
   * @param few how many that is
   */
  JoinedRequests(Route route, int few) {
    this(route, few, PATIENCE);
  }

  /** For tests, which may need more patience. */
  JoinedRequests(Route route, int few, Duration patience) {
    this.route = route;
    this.few = few;
    this.patience = patience;
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
    return Math.max(1, Math.min(FEW, connections - LEADERS));
  }

  /** Returns how many requests lie in the queue. */
  int queued() {
    return queue.size();
  }

  private Object alone(Call call, Deadline deadline) throws InterruptedException {
    return route.use(deadline, wire -> wire.run(call));
  }

  /** One caller's request. The caller and whoever sends it meet in its state. */
  private static final class Request {
    final Call call;
    final Deadline deadline;
    private final Thread caller = Thread.currentThread();
    private final AtomicReference<State> state = new AtomicReference<>(State.QUEUED);
    private @Nullable Object reply;
    private @Nullable RuntimeException problem;

    /** Whether it may be on the server. For the leader that has it. */
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

    /** Whether to send it now: nobody has, or it was sent in vain, and its caller still waits. */
    boolean goes() {
      boolean goes = state.get() == State.SENT || state.compareAndSet(State.QUEUED, State.SENT);
      went |= goes;
      return goes;
    }

    /** What takes back what it may have done for a caller who has left; null if nothing does. */
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
    if (due != null && due.hasPassed()) {
      return false;
    }
    if (led.compareAndSet(false, true)) {
      lead(mine);
      return true;
    }
    queue.add(mine);
    boolean interrupted = false;
    try {
      Deadline sentBy = mine.deadline.orIn(patience);
      while (!mine.hasEnded()) {
        if (Thread.interrupted()) {
          if (takeBack(mine)) {
            throw new InterruptedException();
          }
          interrupted = true;
        }
        boolean queued = mine.isQueued();
        if (queued && led.compareAndSet(false, true)) {
          queue.remove(mine);
          lead(mine);
          continue;
        }
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
    // It may have been told to lead.
    wakeNextLeader();
    return true;
  }

  /** Sends this request and those that wait. Afterwards this one has ended. */
  private void lead(Request mine) {
    Leadership leadership = new Leadership();
    try {
      // The leader before may have served it while this thread was on its way here.
      if (mine.isQueued()) {
        send(batch(mine), leadership);
      }
    } finally {
      leadership.end();
    }
  }

  /** From the moment in which {@link #led} was set until this one ends it; used by one thread. */
  private final class Leadership {
    private boolean ended;

    /** Anybody may lead from now on; somebody does if anybody waits. */
    void end() {
      if (!ended) {
        ended = true;
        repliesDue = null;
        led.set(false);
        wakeNextLeader();
      }
    }
  }

  /** Anybody who comes in between may lead as well; this one leads if nobody does. */
  private void wakeNextLeader() {
    for (Request request : queue) {
      if (request.isQueued()) {
        request.wake();
        return;
      }
    }
  }

  private List<Request> batch(Request mine) {
    List<Request> batch = new ArrayList<>();
    batch.add(mine);
    long latest = mine.deadline.nanos() + ALLOWANCE.toNanos();
    int bytes = mine.call.size();
    while (batch.size() < MOST_AT_ONCE) {
      Request next = queue.peek();
      if (next == null || next.deadline.nanos() - latest > 0) {
        break;
      }
      bytes += next.call.size();
      if (bytes > MOST_BYTES) {
        break;
      }
      queue.remove(next);
      batch.add(next);
    }
    return batch;
  }

  private void send(List<Request> batch, Leadership leadership) {
    Deadline last = batch.get(0).deadline;
    for (Request request : batch) {
      if (request.deadline.nanos() - last.nanos() > 0) {
        last = request.deadline;
      }
    }
    repliesDue = last.orIn(patience);
    // What interrupts the leader is its own affair; the others must not have to do with it.
    boolean interrupted = Thread.interrupted();
    RuntimeException problem = null;
    try {
      boolean done = false;
      while (!done) {
        try {
          done = route.use(last, wire -> exchange(wire, batch, leadership));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } catch (RuntimeException e) {
      problem = e;
    } catch (Error e) {
      problem = new JedisException(e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    if (problem != null) {
      for (Request request : batch) {
        request.failed(problem);
      }
    }
  }

  private boolean exchange(Wire wire, List<Request> batch, Leadership leadership) {
    List<Request> sent = new ArrayList<>(batch.size());
    List<Call> calls = new ArrayList<>(batch.size());
    for (Request request : batch) {
      if (request.goes()) {
        sent.add(request);
        calls.add(request.call);
      }
    }
    wire.runAll(
        calls,
        (reply, index) -> {
          leadership.end();
          sent.get(index).answered(reply);
        },
        () -> undoingsFor(batch));
    return true;
  }

  /** What is asked for those who have left. A refusal is theirs to find out: they ask the same. */
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
}
