package dev.interlock.internal;

import dev.interlock.LockEvent;
import java.time.Duration;

/**
 * Warns of leases that are at risk or lost. A store that goes down can affect thousands, so only
 * the first few of each second are named, and the others counted.
 */
final class LeaseLog extends Timer.Event {

  /** How many leases are named in a second. */
  static final int NAMED = 10;

  private static final long PERIOD = Duration.ofSeconds(1).toNanos();

  private final Engine engine;
  private final Notifier.Sequence lines;

  // The calls come in order, one after the other.
  private int events;

  LeaseLog(Engine engine) {
    this.engine = engine;
    this.lines = engine.notifier.new Sequence();
  }

  /** Queues a line, which the notifier's next flush writes: loggers may block. */
  void note(LockEvent event) {
    note(() -> warn(event));
  }

  /** Queues another line. */
  void note(Runnable line) {
    lines.note(line);
  }

  /** Queues another line and starts to write. */
  void write(Runnable line) {
    note(line);
    engine.notifier.flush();
  }

  @Override
  void fire(long now) {
    count();
  }

  /** Logs how many were not named. */
  void count() {
    write(this::warnOfOthers);
  }

  private void warn(LockEvent event) {
    if (events++ == 0) {
      engine.timer.schedule(this, engine.platform.nanoTime() + PERIOD);
    }
    if (events > NAMED) {
      return;
    }
    if (event instanceof LockEvent.AtRisk risk) {
      Engine.log.warn(
          "lease of \"{}\" with token {} is at risk: {} ms of its validity are left; {}",
          risk.name(),
          risk.fencingToken().orElse(0),
          risk.remaining().toMillis(),
          risk.failure().getMessage());
    } else if (event instanceof LockEvent.Lost lost) {
      Throwable cause = lost.loss().getCause();
      Engine.log.warn(
          "lease of \"{}\" with token {} was lost ({}): {}{}",
          lost.name(),
          lost.fencingToken().orElse(0),
          lost.loss().reason(),
          lost.loss().detail(),
          cause == null ? "" : "; " + cause.getMessage());
    }
  }

  private void warnOfOthers() {
    if (events > NAMED) {
      Engine.log.warn("{} more leases were at risk or lost", events - NAMED);
    }
    events = 0;
  }
}
