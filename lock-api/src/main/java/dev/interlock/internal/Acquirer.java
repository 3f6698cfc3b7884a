package dev.interlock.internal;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockEvent.NotAcquired.Reason;
import dev.interlock.LockOptions;
import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Share;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Acquires locks for the threads of the client, and decides how an acquisition ends. */
final class Acquirer {

  final Holdings holdings;
  final Engine engine;
  final LocalQueue.Index queues;
  final ThreadHolds threadHolds = new ThreadHolds();

  Acquirer(Holdings holdings) {
    this.holdings = holdings;
    this.engine = holdings.engine;
    this.queues = holdings.queues;
  }

  /**
   * Acquires the lock from the store, and then promotes the next waiter unless the lease takes all
   * of the name. Called by the head of the local queue.
   */
  @Nullable LeaseState contend(Request request) throws InterruptedException {
    LeaseState lease = null;
    try {
      engine.ensureOpen();
      lease = run(queues.of(request.name()).contenderFor(request, holdings), request);
    } finally {
      if (lease == null) {
        holdings.promoteNext(request.name());
      } else if (!lease.grant().isWhole()) {
        admitOthers(lease);
      }
    }
    LeaseState acquired = requireOpen(lease, request);
    return acquired == null ? timeOut(request) : acquired;
  }

  /** Asks the store once without entering the local queue; null if the name is held. */
  @Nullable LeaseState tryBesideQueue(Request request) throws InterruptedException {
    engine.ensureOpen();
    LeaseState lease;
    try {
      lease = run(new Contender(holdings, queues.of(request.name()), request), request);
    } finally {
      engine.signalEnd();
    }
    return requireOpen(lease, request);
  }

  private @Nullable LeaseState run(Contender contender, Request request)
      throws InterruptedException {
    AcquireLoop loop;
    try {
      loop =
          engine.store instanceof QueueingBackend store
                  && (!request.isOver() || contender.hasPlaceFor(request))
              ? new QueueingLoop(store, contender, request)
              : new PollingLoop(contender, request);
    } catch (Throwable e) {
      contender.detachHead(false);
      throw e;
    }
    try {
      return loop.run();
    } catch (LockUnavailableException e) {
      throw Engine.withName(request.name(), e);
    }
  }

  /** Releases the lease if the client is closed, because its close may not have seen the lease. */
  private @Nullable LeaseState requireOpen(@Nullable LeaseState lease, Request request) {
    if (lease != null && engine.isClosed()) {
      Release.releaseUnused(lease, request.storeDeadline(engine.requestTimeout()));
      throw engine.closed();
    }
    return lease;
  }

  /**
   * Admits others beside the head's lease: first the waiters that can share its grant, then the
   * next head.
   */
  private void admitOthers(LeaseState lease) {
    // From here on only the caller can release the lease, so this must return it.
    try {
      Handoff.admitReaders(lease);
    } catch (Throwable e) {
      Timer.logFailure("admitting readers", e);
    }
    try {
      holdings.promoteNext(lease.name());
    } catch (Throwable e) {
      Timer.logFailure("promoting the next waiter", e);
    }
  }

  /**
   * Whether another thread of this client holds the lock, or the store has answered that another
   * client does. Always false for a share that does not exclude others.
   *
   * @throws LockConfigurationException if the name is in use for another kind of lock
   */
  boolean isBusy(String name, Share share, LockOptions options, @Nullable Thread owner) {
    engine.ensureOpen();
    boolean busy = queues.of(name).isBusy(share) && share.isWhole();
    if (busy && engine.notifier.hasListeners()) {
      Request request = Request.forTryAcquire(engine, name, share, options, owner, Duration.ZERO);
      engine.reports.reportNotAcquired(request, null, Reason.TIMED_OUT);
    }
    return busy;
  }

  /** Ends a waiter that entered the queue while the client was being closed. */
  void endIfClosed(LocalQueue.Waiter waiter) {
    if (engine.isClosed() && queues.of(waiter.request().name()).leave(waiter)) {
      waiter.onClose();
    }
  }

  // --- how an acquisition ends ------------------------------------------------------------------

  /** Returns null, or throws if the caller wants an exception. */
  private @Nullable LeaseState timeOut(Request request) {
    if (request.throwsOnTimeout()) {
      throw new LockTimeoutException(
          request.name(),
          Duration.ofNanos(engine.platform.nanoTime() - request.startedAt()),
          engine.reports.holder(request).orElse(null));
    }
    return null;
  }

  /**
   * Ends an acquisition that timed out behind another thread of this client.
   *
   * @param answer what the head of the queue knows about the lock
   */
  @Nullable LeaseState timeOutInQueue(Request request, LocalQueue.Answer answer) {
    if (answer.kind() == LocalQueue.Answer.Kind.HELD) {
      return timeOut(request);
    }
    throw engine.unavailable(
        request.name(), "the store could not be asked in time", answer.failure());
  }

  /**
   * The failure of an acquisition whose outage time-out has passed while another thread asked the
   * store.
   */
  LockUnavailableException outageFailure(Request request, LockUnavailableException problem) {
    return engine.unavailable(
        request.name(),
        "the store has failed for longer than the outage time-out of " + request.outageTimeout(),
        problem);
  }

  /** The failure of an acquisition whose lease was lost before the call could return it. */
  RuntimeException lossBeforeReturn(Request request, LeaseState lease) {
    return engine.isClosed()
        ? engine.closed()
        : engine.unavailable(
            request.name(),
            "the store granted the lock, but the lease was lost before the call could return it",
            lease.loss());
  }
}
