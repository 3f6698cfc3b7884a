package dev.interlock.internal;

import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One call that waits for a lock: first for its place at the head of the local line, then on the
 * server. This is the part that is the same whether a thread waits or a future does.
 */
abstract class Acquisition implements LocalLine.Waiter {

  /** How long to wait, and what it means when that time has passed. */
  record Patience(Deadline deadline, Duration withoutStore, boolean timeoutIsFailure) {

    /** For {@code acquire()}. */
    static Patience untilHad(Engine engine, Request request) {
      Duration timeout = request.options().waitTimeout().orElse(null);
      Deadline deadline =
          timeout == null ? Deadline.never(engine.time()) : Deadline.in(engine.time(), timeout);
      return new Patience(deadline, request.options().term(), true);
    }

    /** For {@code tryAcquire(timeout)}: the store may fail for as long as there is time. */
    static Patience upTo(Engine engine, Duration timeout) {
      return new Patience(Deadline.in(engine.time(), timeout), Duration.ofDays(36_500), false);
    }
  }

  private final Engine engine;
  private final Request request;
  private final Patience patience;
  private final long enteredAt;

  Acquisition(Engine engine, Request request, Patience patience) {
    this.engine = engine;
    this.request = request;
    this.patience = patience;
    this.enteredAt = engine.time().nanoTime();
  }

  final Engine engine() {
    return engine;
  }

  final Deadline deadline() {
    return patience.deadline();
  }

  @Override
  public final Request request() {
    return request;
  }

  @Override
  public final long enteredAt() {
    return enteredAt;
  }

  /** As the head of the local line: gets the lock from the server, or passes on. */
  final @Nullable LeaseState contend() throws InterruptedException {
    return contend(engine, request, patience, enteredAt);
  }

  /** The same for whoever is the head at once, and so needs no place in line. */
  static @Nullable LeaseState contend(
      Engine engine, Request request, Patience patience, long enteredAt)
      throws InterruptedException {
    LeaseState lease = null;
    try {
      engine.ensureOpen();
      lease = new Contest(engine, request).run(patience.deadline(), patience.withoutStore());
      return lease == null ? timedOut(engine, request, patience, enteredAt) : lease;
    } finally {
      if (lease == null) {
        engine.line().pass(request.name());
      }
    }
  }

  /** What it comes to when the time has passed behind another thread of this client. */
  final @Nullable LeaseState timedOutInLine() {
    LockUnavailableException trouble = engine.line().trouble(request.name());
    if (trouble != null) {
      throw engine.unavailable("the store could not be asked in time", trouble);
    }
    return timedOut(engine, request, patience, enteredAt);
  }

  private static @Nullable LeaseState timedOut(
      Engine engine, Request request, Patience patience, long enteredAt) {
    if (patience.timeoutIsFailure()) {
      throw new LockTimeoutException(
          request.name(), Duration.ofNanos(engine.time().nanoTime() - enteredAt));
    }
    return null;
  }
}
