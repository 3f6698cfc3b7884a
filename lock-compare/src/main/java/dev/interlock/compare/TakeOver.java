package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** How soon the next one gets the lock of a process that was killed. */
final class TakeOver implements Scenario {
  static final String ID = "take-over";
  static final Metric BEYOND = new Metric("beyond-TTL", "beyond the TTL", Unit.SECONDS);
  static final Metric TTL = new Metric("effective-ttl", "ttl", Unit.SECONDS);

  private static final long PATIENCE_SECONDS = 30;

  @Override
  public String id() {
    return ID;
  }

  @Override
  public String title() {
    return "The holder is killed";
  }

  @Override
  public String explanation() {
    return "A process takes a lock and is killed (SIGKILL) at once; another process waits. Measured"
        + " is how long after the end of the TTL the waiter has the lock; the TTL is counted from"
        + " when the holder knew that it had it, a moment after it began on the store. A TTL that"
        + " is longer than the one asked for is the store's own.";
  }

  @Override
  public List<Column> columns(Effort effort) {
    return List.of(new Column(TTL), new Column(BEYOND));
  }

  @Override
  public List<Chart> charts() {
    return List.of(new Chart.TimeLines("What happened when"));
  }

  @Override
  public Duration estimate(Effort effort, int backends) {
    Duration start = Duration.ofMillis(900L * backends);
    return effort.ttl().plus(start).multipliedBy(effort.faultRounds());
  }

  @Override
  public void run(Run run) throws InterruptedException {
    run.together(
        subject -> {
          if (!subject.isShared()) {
            run.skip(subject, "its locks end with the process");
            return;
          }
          killHolders(run, subject);
        });
  }

  private static void killHolders(Run run, Subject subject) throws Exception {
    List<Double> beyond = new ArrayList<>();
    List<Double> ttls = new ArrayList<>();
    try (LockClient client = subject.open()) {
      client.lock(subject.newName()).acquire().close(); // connects
      for (int i = 0; i < run.effort().faultRounds(); i++) {
        String name = subject.newName();
        try (Holder holder = Holder.take(subject, name, run.effort().ttl())) {
          CompletableFuture<Lease> next = client.lock(name).acquireAsync();
          long killing = System.nanoTime();
          holder.kill();
          long granted;
          try (Lease lease =
              next.get(holder.ttl().toSeconds() + PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            granted = System.nanoTime();
          } finally {
            next.cancel(true);
          }
          long end = holder.took() + holder.ttl().toNanos();
          beyond.add((granted - end) / 1e9);
          ttls.add(holder.ttl().toNanos() / 1e9);
          if (i == 0) {
            TimeLineRecorder line = new TimeLineRecorder(holder.took());
            line.at(holder.took(), "a process has the lock");
            line.at(killing, "it is killed");
            line.at(end, "its TTL is over");
            line.at(granted, "the next process has the lock");
            run.timeLine(subject, line.events());
          }
        }
      }
    }
    run.measured(subject, TTL, ttls);
    run.measured(subject, BEYOND, beyond);
  }
}
