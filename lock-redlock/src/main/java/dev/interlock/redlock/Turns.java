package dev.interlock.redlock;

import dev.interlock.redis.server.VirtualThreads;
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
 * Lets one caller at a time send its requests to the nodes and read the answers on its own thread,
 * so that an attempt or a release without contention switches no threads. Others, and those whose
 * answers take long, use the threads of the pipelines.
 *
 * <p>A caller has enough when a majority has answered. The rest is read with the answers to the
 * next request, or a little later by a thread that looks for it.
 *
 * <p>What others send to the same nodes meanwhile waits until the caller's turn there is over: as
 * long as the answers take, and {@link #PATIENCE} at most, if its thread gets a processor.
 *
 * <p>No virtual thread gets a turn: it would keep its carrier while it waits.
 */
final class Turns implements AutoCloseable {

  /** How long a turn lasts at most; then the pipelines' threads wait for the answers. */
  static final long PATIENCE = TimeUnit.MILLISECONDS.toNanos(20);

  private static final long BETWEEN_SWEEPS = TimeUnit.MILLISECONDS.toNanos(5);

  private final List<NodePipeline> pipelines;
  private final int majority;
  private final Selector selector;
  private final Consumer<SelectionKey> receive = this::receive;
  private final ReentrantLock baton = new ReentrantLock();

  /** The thread whose turn it is. */
  private volatile @Nullable Thread owner;

  /** When that began; only the owner uses it. */
  private long begunAt;

  private final Thread sweeper = new Thread(this::sweep, "interlock-redlock-late");
  private volatile boolean owed;
  private volatile boolean idle;
  private volatile boolean closed;

  /** For these pipelines, which the caller closes. */
  Turns(List<NodePipeline> pipelines) {
    this.pipelines = pipelines;
    this.majority = VoteCount.majorityOf(pipelines.size());
    try {
      this.selector = Selector.open();
    } catch (IOException e) {
      throw new UncheckedIOException("no selector could be opened", e);
    }
    sweeper.setDaemon(true);
    sweeper.start();
  }

  Selector selector() {
    return selector;
  }

  // --- the caller -------------------------------------------------------------------------------

  /**
   * Begins the calling thread's turn, if it is nobody else's and a majority of the nodes can be
   * used at once.
   *
   * @return whether it has begun, and has to be {@linkplain #end ended}
   */
  boolean begin() {
    if (closed || VirtualThreads.isCurrent() || baton.isHeldByCurrentThread() || !baton.tryLock()) {
      return false;
    }
    owner = Thread.currentThread();
    begunAt = System.nanoTime();
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

  /** Ends the calling thread's turn, if that has not happened yet. */
  void end() {
    end(false);
  }

  private void end(boolean impatient) {
    if (!isOwn()) {
      return;
    }
    owner = null;
    boolean owes = false;
    try {
      // Without an iterator, for which there may be no memory.
      for (int node = 0; node < pipelines.size(); node++) {
        if (pipelines.get(node).isEntered()) {
          owes |= pipelines.get(node).leave(impatient);
        }
      }
    } finally {
      baton.unlock();
    }
    if (owes) {
      owed = true;
      if (idle) {
        LockSupport.unpark(sweeper);
      }
    }
  }

  private boolean isOwn() {
    return owner == Thread.currentThread();
  }

  /** Sends a request to a node at once if it is the calling thread's turn there. */
  boolean send(int node, NodePipeline.Request request) {
    NodePipeline pipeline = pipelines.get(node);
    if (!isOwn() || !pipeline.isEntered()) {
      return false;
    }
    pipeline.sendNow(request);
    return true;
  }

  /** Returns what the calling thread can {@linkplain #await await} during its turn. */
  WakeUp wakeUp(TimeSource time) {
    Thread caller = Thread.currentThread();
    return isOwn() ? new WakeUp(time, () -> wake(caller)) : new WakeUp(time);
  }

  private void wake(Thread caller) {
    if (owner == caller && Thread.currentThread() != caller) {
      selector.wakeup();
    }
  }

  /** As {@link WakeUp#await}; hands out answers meanwhile if it is the calling thread's turn. */
  boolean await(WakeUp wakeUp, Deadline deadline) throws InterruptedException {
    while (isOwn() && !deadline.hasPassed()) {
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
    long left = begunAt + PATIENCE - System.nanoTime();
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
      ChannelLine.ignore(key); // Its thread may be closing the connection.
    }
  }

  // --- what callers leave -----------------------------------------------------------------------

  private void sweep() {
    while (!closed) {
      if (!owed) {
        idle = true;
        if (!owed && !closed) {
          LockSupport.park(this);
        }
        idle = false;
      }
      LockSupport.parkNanos(this, BETWEEN_SWEEPS);
      owed = false;
      try {
        for (NodePipeline pipeline : pipelines) {
          if (pipeline.sweep()) {
            owed = true;
          }
        }
      } catch (RuntimeException | Error e) {
        // There was no memory even to leave it to the pipeline's thread.
        owed = true;
      }
    }
  }

  /** Has the selector let go of connections that were closed, which remain half open otherwise. */
  void forgetClosed() {
    selector.wakeup();
    if (baton.tryLock()) {
      try {
        selector.selectNow(any -> {});
      } catch (IOException | ClosedSelectorException e) {
        // It has let go of all.
      } finally {
        baton.unlock();
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
