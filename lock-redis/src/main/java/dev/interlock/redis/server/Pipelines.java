package dev.interlock.redis.server;

import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.WakeUp;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A client's pipelines, one to each of its servers: a queue of requests, and a connection over
 * which all that are queued are sent together, without waiting for the replies to those before.
 *
 * <p>One thread at a time serves all pipelines: sends what is queued, and delivers the replies.
 * That is the thread of this object, or a caller that {@linkplain #begin leads}: its request and
 * the reply need no switch of threads then. What others ask meanwhile is served by the caller, too;
 * when it ends, the thread of this object goes on. All others wait without touching a connection,
 * so that an interrupt breaks none.
 *
 * <p>A caller that leads ends as soon as it knows enough. The replies that are still missing are
 * read by the next one, or a little later by the thread.
 *
 * <p>All requests to a server stay in order, so that a release never overtakes the acquisition that
 * it undoes.
 */
public final class Pipelines implements AutoCloseable {

  /** How soon the thread reads replies that nobody waits for. */
  private static final long SWEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** What is due within this time when a caller ends its lead, it wakes the thread for. */
  private static final long SOON = TimeUnit.SECONDS.toNanos(1);

  private final List<Pipeline> pipelines;
  private final int timeoutMillis;
  private final Selector selector;
  private final Thread thread;

  /** Held by the thread that serves. */
  private final ReentrantLock lock = new ReentrantLock();

  /** Whether the thread that serves waits, or is about to. */
  private volatile boolean selecting;

  /** Whether there is news for the thread that serves, so that it must not wait. */
  private volatile boolean hasNews;

  /**
   * Whether others than a leading caller have sent, waited or connected since the thread looked
   * last.
   */
  private volatile boolean wanted;

  /** How many callers wait that do not lead. */
  private final AtomicInteger waiting = new AtomicInteger();

  /** Whether there are replies to read for which nobody waits. */
  private volatile boolean hasLeftovers;

  private volatile boolean resting;
  private volatile boolean closed;

  /**
   * Makes pipelines that are not connected yet.
   *
   * @param name the beginning of the names of their threads
   * @param servers the other ends
   * @param timeout how long to wait for an answer
   */
  public Pipelines(String name, List<? extends Server> servers, Duration timeout) {
    this.timeoutMillis = Math.toIntExact(timeout.toMillis());
    try {
      this.selector = Selector.open();
    } catch (IOException e) {
      throw new UncheckedIOException("no selector could be opened", e);
    }
    this.pipelines =
        servers.stream().map(server -> new Pipeline(this, name, server, timeout)).toList();
    this.thread = DaemonThreads.factory(name + "-pipelines").newThread(this::workUntilClosed);
    boolean started = false;
    try {
      thread.start();
      started = true;
    } finally {
      if (!started) {
        closeSelector();
      }
    }
  }

  /**
   * Sends a request as soon as possible. Does not block.
   *
   * @param server its number
   * @param request what to send
   */
  public void send(int server, Request request) {
    if (pipelines.get(server).enqueue(request)) {
      wake();
    }
  }

  /** Makes the thread that serves look at the queues, and for a new connection. */
  void wake() {
    hasNews = true;
    if (!lock.isHeldByCurrentThread()) {
      wanted = true; // not only unparked: a lock may take that permit from the thread
      if (selecting) {
        selector.wakeup();
      }
      LockSupport.unpark(thread);
    }
  }

  Selector selector() {
    return selector;
  }

  /**
   * Notes replies that have arrived, and releases closed channels, which are half open till then.
   */
  void selectNow() {
    try {
      selector.selectNow(Pipelines::noteReady);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  boolean isClosed() {
    return closed;
  }

  // --- a caller that leads ----------------------------------------------------------------------

  /**
   * Lets the calling thread lead if no other one serves. A virtual thread never does: it would
   * block its carrier while it waits.
   *
   * @return whether it leads, and then has to {@linkplain #end end} that
   */
  public boolean begin() {
    if (closed || VirtualThreads.isCurrent() || lock.isHeldByCurrentThread() || !lock.tryLock()) {
      return false;
    }
    if (closed) {
      lock.unlock();
      return false;
    }
    return true;
  }

  /** Ends the lead of the calling thread. */
  public void end() {
    boolean left = true;
    try {
      left = serve() < SOON || isBusy();
    } finally {
      hasLeftovers |= left;
      lock.unlock();
    }
    if (left && resting) {
      LockSupport.unpark(thread);
    }
  }

  /**
   * As {@link WakeUp#await}; serves meanwhile if the calling thread leads.
   *
   * @param wakeUp what to wait for
   * @param deadline when to give up
   * @return whether it was signalled
   * @throws InterruptedException if the thread is interrupted
   */
  public boolean await(WakeUp wakeUp, Deadline deadline) throws InterruptedException {
    if (!lock.isHeldByCurrentThread()) {
      beginWait();
      try {
        return wakeUp.await(deadline);
      } finally {
        endWait();
      }
    }
    long due = serve();
    while (!wakeUp.take()) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      long left = deadline.remainingNanos();
      if (left <= 0) {
        return false;
      }
      select(Math.min(due, left));
      due = serve();
    }
    return true;
  }

  /** Makes the thread go on until the calling thread, which does not lead, has its replies. */
  public void beginWait() {
    waiting.incrementAndGet();
    wanted = true;
    LockSupport.unpark(thread);
  }

  /** Ends what {@link #beginWait} has begun. */
  public void endWait() {
    waiting.decrementAndGet();
  }

  // --- serving ----------------------------------------------------------------------------------

  /** Does what can be done without waiting; returns after how many ns there is more to do. */
  private long serve() {
    long due = TimeUnit.MINUTES.toNanos(1);
    for (int i = 0; i < pipelines.size(); i++) { // without an iterator: there may be no memory
      due = Math.min(due, pipelines.get(i).serve());
    }
    return due;
  }

  private boolean isBusy() {
    for (int i = 0; i < pipelines.size(); i++) {
      if (pipelines.get(i).isBusy()) {
        return true;
      }
    }
    return false;
  }

  private static void noteReady(SelectionKey key) {
    ((ChannelTransport) key.attachment()).noteReady();
  }

  /** Waits for replies, or for news from other threads; not at all if the time is 0. */
  private void select(long nanos) {
    selecting = true;
    try {
      if (nanos <= 0 || hasNews) {
        selector.selectNow(Pipelines::noteReady);
      } else {
        selector.select(Pipelines::noteReady, TimeUnit.NANOSECONDS.toMillis(nanos) + 1);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      selecting = false;
      hasNews = false;
    }
  }

  // --- the thread -------------------------------------------------------------------------------

  private void workUntilClosed() {
    while (true) {
      try {
        while (!closed || isBusy()) {
          rest(turn());
        }
        disconnect();
        return;
      } catch (RuntimeException | Error e) {
        // There was no memory even to report it; callers time out.
        hasLeftovers = true;
      }
    }
  }

  /** Serves as long as others wait; returns for how many ns to rest. */
  private long turn() {
    if (wanted || closed) {
      lock.lock();
    } else if (!lock.tryLock()) {
      return SWEEP_NANOS; // a caller serves
    }
    try {
      long due = 0;
      boolean goesOn = true;
      while (goesOn) {
        select(due);
        wanted = false;
        due = serve();
        goesOn = isBusy() && (waiting.get() > 0 || closed);
      }
      hasLeftovers = isBusy();
      return due;
    } finally {
      lock.unlock();
    }
  }

  private void rest(long nanos) {
    if (!hasLeftovers && !wanted && !closed) {
      resting = true;
      if (!hasLeftovers && !wanted && !closed) {
        LockSupport.parkNanos(this, nanos);
      }
      resting = false;
    }
    if (hasLeftovers && !wanted) {
      LockSupport.parkNanos(this, SWEEP_NANOS);
    }
  }

  private void disconnect() {
    lock.lock();
    try {
      pipelines.forEach(Pipeline::end);
      closeSelector();
    } finally {
      lock.unlock();
    }
  }

  private void closeSelector() {
    try {
      selector.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Delivers what it can within the time-out of an answer, and ends. Does not wait for that. */
  @Override
  public void close() {
    closed = true;
    wake();
  }

  /**
   * Waits until the end, after {@link #close}.
   *
   * @throws InterruptedException if the thread is interrupted
   */
  public void awaitEnd() throws InterruptedException {
    thread.join(timeoutMillis);
  }
}
