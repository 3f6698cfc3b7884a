package dev.interlock.internal;

import dev.interlock.LockEvent;
import java.time.Duration;

/**
 * Logs leases that are at risk or lost. A store that goes down can affect thousands, so only the
 * first of each second are named, and the others are counted.
 */
final class LeaseLog extends Timer.Event {

  /** The number of leases that are named in a second. */
  static final int MAX_NAMED_PER_SECOND = 10;

  private static final long PERIOD_NANOS = Duration.ofSeconds(1).toNanos();

  private final Engine engine;
  private final Notifier.Sequence lines;

  // The calls come one after the other, in order.
  private int events;

  LeaseLog(Engine engine) {
    this.engine = engine;
    this.lines = engine.notifier.new Sequence();
  }

  /**
   * Queues the warning about an event. The notifier's next flush writes it, because loggers may
   * block.
   */
  void enqueue(LockEvent event) {
    enqueue(() -> warn(event));
  }

  /** Queues code that logs. */
  void enqueue(Runnable line) {
    lines.enqueue(line);
  }

  /** Queues code that logs, and starts it. */
  void write(Runnable line) {
    enqueue(line);
    engine.notifier.flush();
  }

  @Override
  void fire(long now) {
    logOthers();
  }

  /** Logs the number of leases that were not named. */
  void logOthers() {
    write(this::warnOfOthers);
  }

  private void warn(LockEvent event) {
    if (events++ == 0) {
      engine.timer.schedule(this, engine.platform.nanoTime() + PERIOD_NANOS);
    }
    if (events > MAX_NAMED_PER_SECOND) {
      return;
    }
    if (event instanceof LockEvent.AtRisk risk) {
      Engine.log.warn(
          "the lease of \"{}\" with token {} is at risk: {} ms of its validity remain; {}",
          risk.name(),
          risk.fencingToken().orElse(0),
          risk.remaining().toMillis(),
          risk.failure().getMessage());
    } else if (event instanceof LockEvent.Lost lost) {
      Throwable cause = lost.loss().getCause();
      Engine.log.warn(
          "the lease of \"{}\" with token {} was lost ({}): {}{}",
          lost.name(),
          lost.fencingToken().orElse(0),
          lost.loss().reason(),
          lost.loss().detail(),
          cause == null ? "" : "; " + cause.getMessage());
    }
  }

  private void warnOfOthers() {
    if (events > MAX_NAMED_PER_SECOND) {
      Engine.log.warn("{} more leases were at risk or lost", events - MAX_NAMED_PER_SECOND);
    }
    events = 0;
  }
}
