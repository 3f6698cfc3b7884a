package dev.interlock.internal;

import dev.interlock.LockEvent.NotAcquired.Reason;
import dev.interlock.LockKind;
import dev.interlock.LockUnavailableException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition whose calling thread waits and does its own I/O. Most acquisitions find the local
 * queue empty, and do not wait there.
 *
 * @param <R> the type of the result
 */
final class BlockingAcquisition<R> {

  private final Acquirer acquirer;
  private final Engine engine;
  private final Function<LeaseState, R> handle;
  private Request request;

  private BlockingAcquisition(Acquirer acquirer, Request request, Function<LeaseState, R> handle) {
    this.acquirer = acquirer;
    this.engine = acquirer.engine;
    this.request = request;
    this.handle = handle;
  }

  /**
   * Acquires the lock.
   *
   * @param handle makes the result from the lease
   * @return null if the time ran out without a failure, and the caller wants no exception
   */
  static <R> @Nullable R acquire(Acquirer acquirer, Request request, Function<LeaseState, R> handle)
      throws InterruptedException {
    return new BlockingAcquisition<>(acquirer, request, handle).run();
  }

  private @Nullable R run() throws InterruptedException {
    StackRoom.require();
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    while (true) {
      LeaseState lease = attempt();
      @Nullable R handed = lease == null ? null : hand(lease);
      if (lease == null || handed != null) {
        return handed;
      }
      if (request.isOver()) {
        throw acquirer.lossBeforeReturn(request, lease);
      }
      request = request.forRetry();
    }
  }

  private @Nullable LeaseState attempt() throws InterruptedException {
    try {
      engine.ensureOpen();
      LeaseState lease;
      if (request.bypassesQueue()) {
        lease = acquirer.tryBesideQueue(request);
      } else if (acquirer.queues.tryEnter(request.name(), request.share())) {
        lease = acquirer.contend(request);
      } else {
        lease = tryBesideQueue();
        if (lease == null) {
          lease = awaitInQueue();
        }
      }
      if (lease == null) {
        engine.reports.reportNotAcquired(request, null, Reason.TIMED_OUT);
      }
      return lease;
    } catch (Throwable e) {
      engine.reports.reportFailure(request, e);
      throw e;
    }
  }

  /** Asks beside the local queue if a permit may be free: the store has not made the head wait. */
  private @Nullable LeaseState tryBesideQueue() throws InterruptedException {
    if (request.share().kind() != LockKind.SEMAPHORE
        || request.share().isWhole()
        || acquirer.queues.of(request.name()).isContended()) {
      return null;
    }
    try {
      return acquirer.tryBesideQueue(request.forSingleAttempt());
    } catch (LockUnavailableException e) {
      // The wait in the local queue repeats the attempt.
      Engine.log.debug(
          "the attempt for \"{}\" beside the local queue failed; waiting in the queue",
          request.name(),
          e);
      return null;
    }
  }

  /**
   * Creates the result from a lease. An exception after the grant releases the lock.
   *
   * @return null if the lease ended on its way here, which counts as not granted
   */
  private @Nullable R hand(LeaseState lease) {
    @Nullable R handed = null;
    try {
      if (lease.isHeld()) {
        if (!request.isMember()) {
          // Recorded here and not in the handle, because each frame on the stack costs.
          lease.hold().setCallSite(engine.callSites.sample(request.name()));
        }
        handed = handle.apply(lease);
      }
      return handed;
    } finally {
      if (handed == null) {
        Release.releaseUnused(lease, null);
      }
    }
  }

  private @Nullable LeaseState awaitInQueue() throws InterruptedException {
    LocalWait wait = new LocalWait(acquirer, request, null);
    boolean isHead;
    try {
      isHead = wait.enter() || wait.awaitHead();
    } catch (Throwable e) {
      LeaseState unwanted = wait.abandon();
      if (unwanted != null) {
        Release.releaseUnused(unwanted, null);
      }
      throw e;
    }
    if (isHead) {
      return acquirer.contend(request);
    }
    return wait.outcome();
  }
}
