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
 * The pipelines of a client, one to each of its servers. A pipeline is a queue of requests and a
 * connection. It sends all queued requests together, without waiting for earlier replies.
 *
 * <p>One thread at a time serves all pipelines: it sends the queued requests, and delivers the
 * replies. This is the thread of this object, or a caller that {@linkplain #tryLead leads}. A
 * caller that leads needs no switch of threads for its own request. It also serves the requests of
 * others; when it stops leading, the thread of this object goes on. All other callers wait without
 * touching a connection, so an interrupt does not break one.
 *
 * <p>A caller that leads may stop before all replies have come. The next leader reads them, or a
 * little later the thread of this object.
 *
 * <p>The requests to a server stay in order, so a release never overtakes the acquisition that it
 * undoes.
 */
public final class Pipelines implements AutoCloseable {

  /** The interval at which the thread reads replies that nobody waits for. */
  private static final long SWEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** A caller that stops leading wakes the thread if there is more work within this time. */
  private static final long WAKE_AHEAD_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final List<Pipeline> pipelines;
  private final int timeoutMillis;
  private final Selector selector;
  private final Thread thread;

  /** Held by the thread that serves. */
  private final ReentrantLock lock = new ReentrantLock();

  /** Whether the thread that serves waits, or is about to. */
  private volatile boolean selecting;

  /** Whether the thread that serves must look at the queues and connections again at once. */
  private volatile boolean mustLook;

  /**
   * Whether a thread other than the leader has sent a request, begun to wait, or made a connection
   * since the thread of this object last served.
   */
  private volatile boolean isRequested;

  /** The number of callers that wait without leading. */
  private final AtomicInteger waiting = new AtomicInteger();

  /** Whether there may be replies to read that nobody waits for. */
  private volatile boolean hasUnreadReplies;

  private volatile boolean isParked;
  private volatile boolean closed;

  /**
   * Makes pipelines that are not connected yet.
   *
   * @param name the beginning of the names of their threads
   * @param servers the servers, in the order of their numbers
   * @param timeout how long to wait for a reply
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
   * Queues a request. Does not block.
   *
   * @param server the number of the server
   * @param request the request to send
   */
  public void send(int server, Request request) {
    if (pipelines.get(server).enqueue(request)) {
      wake();
    }
  }

  /** Makes the thread that serves look at the queues and connections again. */
  void wake() {
    mustLook = true;
    if (!lock.isHeldByCurrentThread()) {
      isRequested = true; // unpark alone is not enough: a lock may consume the permit
      if (selecting) {
        selector.wakeup();
      }
      LockSupport.unpark(thread);
    }
  }

  Selector selector() {
    return selector;
  }

  /** Marks the channels that can be read, and completes the closing of others. */
  void selectNow() {
    try {
      selector.selectNow(Pipelines::recordReady);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  boolean isClosed() {
    return closed;
  }

  // --- a caller that leads ----------------------------------------------------------------------

  /**
   * Makes the calling thread the leader, unless another thread serves. A virtual thread never
   * leads: it would block its carrier while it waits.
   *
   * @return whether the calling thread leads; it must then call {@link #endLead}
   */
  public boolean tryLead() {
    if (closed || VirtualThreads.isCurrent() || lock.isHeldByCurrentThread() || !lock.tryLock()) {
      return false;
    }
    if (closed) {
      lock.unlock();
      return false;
    }
    return true;
  }

  /** Ends the leadership of the calling thread. */
  public void endLead() {
    boolean hasWork = true;
    try {
      hasWork = serve() < WAKE_AHEAD_NANOS || isBusy();
    } finally {
      hasUnreadReplies |= hasWork;
      lock.unlock();
    }
    if (hasWork && isParked) {
      LockSupport.unpark(thread);
    }
  }

  /**
   * Waits for a signal, as {@link WakeUp#await} does. A thread that leads serves meanwhile.
   *
   * @param wakeUp the signal
   * @param deadline when to stop waiting
   * @return whether the signal came
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
    while (!wakeUp.consume()) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      long remaining = deadline.remainingNanos();
      if (remaining <= 0) {
        return false;
      }
      select(Math.min(due, remaining));
      due = serve();
    }
    return true;
  }

  /** Makes the thread of this object serve until {@link #endWait}. For callers that do not lead. */
  public void beginWait() {
    waiting.incrementAndGet();
    isRequested = true;
    LockSupport.unpark(thread);
  }

  /** Ends the wait that {@link #beginWait} began. */
  public void endWait() {
    waiting.decrementAndGet();
  }

  // --- serving ----------------------------------------------------------------------------------

  /** Serves all pipelines without waiting. Returns the nanoseconds until there is more work. */
  private long serve() {
    long due = TimeUnit.MINUTES.toNanos(1);
    for (int i = 0; i < pipelines.size(); i++) { // an iterator would need memory
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

  private static void recordReady(SelectionKey key) {
    ((ChannelTransport) key.attachment()).recordReady();
  }

  /** Waits for replies, or for {@link #wake}. Does not wait if the time is 0. */
  private void select(long nanos) {
    selecting = true;
    try {
      if (nanos <= 0 || mustLook) {
        selector.selectNow(Pipelines::recordReady);
      } else {
        selector.select(Pipelines::recordReady, TimeUnit.NANOSECONDS.toMillis(nanos) + 1);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      selecting = false;
      mustLook = false;
    }
  }

  // --- the thread -------------------------------------------------------------------------------

  private void workUntilClosed() {
    while (true) {
      try {
        while (!closed || isBusy()) {
          park(serveWhileNeeded());
        }
        disconnect();
        return;
      } catch (RuntimeException | Error e) {
        // There was no memory even to report the failure. Callers time out.
        hasUnreadReplies = true;
      }
    }
  }

  /** Serves while callers wait. Returns the nanoseconds until there is more work. */
  private long serveWhileNeeded() {
    if (isRequested || closed) {
      lock.lock();
    } else if (!lock.tryLock()) {
      return SWEEP_NANOS; // a caller serves
    }
    try {
      long due = 0;
      boolean goesOn = true;
      while (goesOn) {
        select(due);
        isRequested = false;
        due = serve();
        goesOn = isBusy() && (waiting.get() > 0 || closed);
      }
      hasUnreadReplies = isBusy();
      return due;
    } finally {
      lock.unlock();
    }
  }

  private void park(long nanos) {
    if (!hasUnreadReplies && !isRequested && !closed) {
      isParked = true;
      if (!hasUnreadReplies && !isRequested && !closed) {
        LockSupport.parkNanos(this, nanos);
      }
      isParked = false;
    }
    if (hasUnreadReplies && !isRequested) {
      LockSupport.parkNanos(this, SWEEP_NANOS);
    }
  }

  private void disconnect() {
    lock.lock();
    try {
      pipelines.forEach(Pipeline::shutDown);
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

  /** Stops after the requests that are queued or unanswered. Does not wait for that. */
  @Override
  public void close() {
    closed = true;
    wake();
  }

  /**
   * Waits until the thread has stopped, after {@link #close}, or a time-out has passed.
   *
   * @throws InterruptedException if the thread is interrupted
   */
  public void awaitEnd() throws InterruptedException {
    thread.join(timeoutMillis);
  }
}
