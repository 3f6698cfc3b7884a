package dev.interlock.redlock;

import dev.interlock.redis.server.VirtualThreads;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Lets one caller at a time write its requests to the nodes and read the replies on its own thread,
 * so that an attempt or a release without contention switches no threads. Other callers use the
 * pipelines' threads, and so does one whose replies take long.
 *
 * <p>A caller stops when a majority has answered. The other replies are read with those to the next
 * request, or a little later by the sweeper.
 *
 * <p>What other threads send to the same nodes meanwhile waits until the caller stops: after {@link
 * #MAX_WAIT} at most, if its thread gets a processor.
 *
 * <p>No virtual thread does its own I/O: it would block its carrier while it waits.
 */
final class CallerIo implements AutoCloseable {

  /** For how long a caller reads at most; then the pipelines' threads wait for the replies. */
  static final long MAX_WAIT = TimeUnit.MILLISECONDS.toNanos(20);

  private static final long SWEEP_INTERVAL = TimeUnit.MILLISECONDS.toNanos(5);

  private final List<NodePipeline> pipelines;
  private final int majority;
  private final Selector selector;
  private final Consumer<SelectionKey> receive = this::receive;
  private final ReentrantLock lock = new ReentrantLock();

  /** The thread that does its own I/O. */
  private volatile @Nullable Thread owner;

  /** When it began; used by the owner only. */
  private long startedAt;

  private final Thread sweeper =
      DaemonThreads.factory("interlock-redlock-sweeper").newThread(this::sweep);
  private volatile boolean hasUnread;
  private volatile boolean parked;
  private volatile boolean closed;

  /** Uses these pipelines, and does not close them. */
  CallerIo(List<NodePipeline> pipelines) {
    this.pipelines = pipelines;
    this.majority = VoteCount.majorityOf(pipelines.size());
    try {
      this.selector = Selector.open();
    } catch (IOException e) {
      throw new UncheckedIOException("no selector could be opened", e);
    }
    sweeper.start();
  }

  Selector selector() {
    return selector;
  }

  // --- the caller -------------------------------------------------------------------------------

  /**
   * Lets the calling thread do its own I/O, if no other does and a majority of the nodes can be
   * used at once.
   *
   * @return whether it may, and then has to {@linkplain #end end} that
   */
  boolean begin() {
    if (closed || VirtualThreads.isCurrent() || lock.isHeldByCurrentThread() || !lock.tryLock()) {
      return false;
    }
    owner = Thread.currentThread();
    startedAt = System.nanoTime();
    boolean begun = false;
    try {
      int entered = 0;
      for (NodePipeline pipeline : pipelines) {
        entered += pipeline.enter(this) ? 1 : 0;
      }
      begun = entered >= majority;
      return begun;
    } finally {
      if (!begun) {
        end();
      }
    }
  }

  /** Ends the calling thread's own I/O, unless it has ended already. */
  void end() {
    end(false);
  }

  private void end(boolean handOff) {
    if (!isOwner()) {
      return;
    }
    owner = null;
    boolean unread = false;
    try {
      // Without an iterator, for which there may be no memory.
      for (int node = 0; node < pipelines.size(); node++) {
        if (pipelines.get(node).isEntered()) {
          unread |= pipelines.get(node).leave(handOff);
        }
      }
    } finally {
      lock.unlock();
    }
    if (unread) {
      hasUnread = true;
      if (parked) {
        LockSupport.unpark(sweeper);
      }
    }
  }

  private boolean isOwner() {
    return owner == Thread.currentThread();
  }

  /** Sends a request to a node at once, if the calling thread does its own I/O there. */
  boolean send(int node, NodePipeline.Request request) {
    NodePipeline pipeline = pipelines.get(node);
    if (!isOwner() || !pipeline.isEntered()) {
      return false;
    }
    pipeline.sendNow(request);
    return true;
  }

  /** Returns what the calling thread can {@linkplain #await await} during its own I/O. */
  WakeUp wakeUp(TimeSource time) {
    Thread caller = Thread.currentThread();
    return isOwner() ? new WakeUp(time, () -> wake(caller)) : new WakeUp(time);
  }

  private void wake(Thread caller) {
    if (owner == caller && Thread.currentThread() != caller) {
      selector.wakeup();
    }
  }

  /** As {@link WakeUp#await}; delivers replies meanwhile if the calling thread does its own I/O. */
  boolean await(WakeUp wakeUp, Deadline deadline) throws InterruptedException {
    while (isOwner() && !deadline.hasPassed()) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      if (wakeUp.take()) {
        return true;
      }
      select(deadline);
    }
    return wakeUp.await(deadline);
  }

  private void select(Deadline deadline) {
    boolean expecting = false;
    for (NodePipeline pipeline : pipelines) {
      if (pipeline.isEntered()) {
        if (pipeline.isWantedByOthers()) {
          pipeline.leave(false);
        } else {
          expecting |= !pipeline.isDone();
        }
      }
    }
    long left = startedAt + MAX_WAIT - System.nanoTime();
    if (!expecting || left <= 0) {
      end(true);
      return;
    }
    try {
      // By now the deadline may have passed.
      long most = Math.max(0, Math.min(left, deadline.remainingNanos()));
      selector.select(receive, TimeUnit.NANOSECONDS.toMillis(most) + 1);
    } catch (IOException | ClosedSelectorException e) {
      end(true);
    }
  }

  private void receive(SelectionKey key) {
    NodePipeline pipeline = (NodePipeline) key.attachment();
    if (pipeline.isEntered()) {
      pipeline.receive();
    } else {
      ChannelTransport.ignore(key); // Its thread may be closing the connection.
    }
  }

  // --- the replies that callers leave unread ----------------------------------------------------

  private void sweep() {
    while (!closed) {
      if (!hasUnread) {
        parked = true;
        if (!hasUnread && !closed) {
          LockSupport.park(this);
        }
        parked = false;
      }
      LockSupport.parkNanos(this, SWEEP_INTERVAL);
      hasUnread = false;
      try {
        for (NodePipeline pipeline : pipelines) {
          if (pipeline.sweep()) {
            hasUnread = true;
          }
        }
      } catch (RuntimeException | Error e) {
        // There was no memory even to wake the pipeline's thread.
        hasUnread = true;
      }
    }
  }

  /** Makes the selector release closed channels, which stay half open until then. */
  void forgetClosed() {
    selector.wakeup();
    if (lock.tryLock()) {
      try {
        selector.selectNow(any -> {});
      } catch (IOException | ClosedSelectorException e) {
        // It has released all.
      } finally {
        lock.unlock();
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(sweeper);
    try {
      selector.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
