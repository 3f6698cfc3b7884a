package dev.interlock.internal;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockEvent.GaveUp.Reason;
import dev.interlock.LockOptions;
import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Share;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Acquires for one thread of the client, on that thread, and says how an acquisition ends. */
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

  /** Called by the head of the local queue: acquires the lock from the server, or passes. */
  @Nullable LeaseState contend(Request request) throws InterruptedException {
    LeaseState lease = null;
    try {
      engine.ensureOpen();
      lease = run(queues.of(request.name()).contenderFor(request, holdings), request);
    } finally {
      if (lease == null) {
        holdings.endTurn(request.name());
      } else if (!lease.grant().isWhole()) {
        letOthersIn(lease);
      }
    }
    LeaseState acquired = ifOpen(lease, request);
    return acquired == null ? timedOut(request) : acquired;
  }

  /** Asks the store once, beside other threads of this client; null if the name is held. */
  @Nullable LeaseState contendBeside(Request request) throws InterruptedException {
    engine.ensureOpen();
    LeaseState lease;
    try {
      lease = run(new Contender(holdings, queues.of(request.name()), request), request);
    } finally {
      engine.signalEnd();
    }
    return ifOpen(lease, request);
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
      contender.leave(false);
      throw e;
    }
    try {
      return loop.run();
    } catch (LockUnavailableException e) {
      throw Engine.of(request.name(), e);
    }
  }

  /** A client that is being closed may have released its leases before it knew of this one. */
  private @Nullable LeaseState ifOpen(@Nullable LeaseState lease, Request request) {
    if (lease != null && engine.isClosed()) {
      Release.giveUp(lease, request.forStore(engine.requestTimeout()));
      throw engine.closed();
    }
    return lease;
  }

  /**
   * Lets others in beside the head's lease: first waiters behind it that can use its grant, then
   * the next head, which asks the store.
   */
  private void letOthersIn(LeaseState lease) {
    // From here on only the caller can release the lease, so it has to be returned.
    try {
      Handoff.admitReaders(lease);
    } catch (Throwable e) {
      Timer.failed("admitting readers", e);
    }
    try {
      holdings.endTurn(lease.name());
    } catch (Throwable e) {
      Timer.failed("starting the turn of the next head", e);
    }
  }

  /**
   * Whether another thread of this client holds the lock, or the store has answered that another
   * client does. Always false for a share that does not exclude others.
   *
   * @throws LockConfigurationException if the name is in use as something else
   */
  boolean isBusy(String name, Share share, LockOptions wanted, @Nullable Thread owner) {
    engine.ensureOpen();
    boolean busy = queues.of(name).isBusy(share) && share.isWhole();
    if (busy && engine.notifier.hasListeners()) {
      Request refused = Request.upTo(engine, name, share, wanted, owner, Duration.ZERO);
      engine.reports.noteGivenUp(refused, null, Reason.TIMED_OUT);
    }
    return busy;
  }

  /** Removes a waiter that entered the queue while the client was being closed. */
  void ensureServed(LocalQueue.Waiter waiter) {
    if (engine.isClosed() && queues.of(waiter.request().name()).leave(waiter)) {
      waiter.onClose();
    }
  }

  // --- how an acquisition ends ------------------------------------------------------------------

  /** Returns null, or throws if the request insists. */
  private @Nullable LeaseState timedOut(Request request) {
    if (request.timeoutIsFailure()) {
      throw new LockTimeoutException(
          request.name(),
          Duration.ofNanos(engine.platform.nanoTime() - request.since()),
          engine.reports.holder(request).orElse(null));
    }
    return null;
  }

  /**
   * The outcome of an acquisition that timed out behind another thread of this client.
   *
   * @param answer what the head of the queue knew of the lock
   */
  @Nullable LeaseState timedOutInLine(Request request, LocalQueue.Answer answer) {
    if (answer.kind() == LocalQueue.Answer.Kind.HELD) {
      return timedOut(request);
    }
    throw engine.unavailable(
        request.name(), "the store could not be asked in time", answer.trouble());
  }

  /** The failure of an acquisition that another thread's outage has ended as well. */
  LockUnavailableException outage(Request request, LockUnavailableException problem) {
    return engine.unavailable(
        request.name(),
        "the store has failed for longer than the outage time-out of " + request.withoutStore(),
        problem);
  }

  /** The failure of an acquisition whose lease was lost before the call could return it. */
  RuntimeException lostBeforeReturn(Request request, LeaseState lease) {
    return engine.isClosed()
        ? engine.closed()
        : engine.unavailable(
            request.name(),
            "the store granted the lock, but the lease was lost before the call could return it",
            lease.loss());
  }
}
