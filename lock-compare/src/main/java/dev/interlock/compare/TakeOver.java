package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** How soon the next one gets the lock of a process that was killed. */
final class TakeOver implements Scenario {
  static final String ID = "take-over";
  static final Metric BEYOND = new Metric("beyond-term", "beyond the term", Unit.SECONDS);
  static final Metric TERM = new Metric("effective-term", "term", Unit.SECONDS);

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
        + " is how long after the end of the term the waiter has the lock; the term is counted from"
        + " when the holder knew that it had it, a moment after it began on the store. A term that"
        + " is longer than the one asked for is the store's own.";
  }

  @Override
  public List<Column> columns(Effort effort) {
    return List.of(new Column(TERM), new Column(BEYOND));
  }

  @Override
  public List<Chart> charts() {
    return List.of(new Chart.TimeLines("What happened when"));
  }

  @Override
  public Duration estimate(Effort effort, int backends) {
    Duration start = Duration.ofMillis(900L * backends);
    return effort.term().plus(start).multipliedBy(effort.faultRounds());
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
    List<Double> terms = new ArrayList<>();
    try (LockClient client = subject.open()) {
      client.lock(subject.newName()).acquire().close(); // connects
      for (int i = 0; i < run.effort().faultRounds(); i++) {
        String name = subject.newName();
        try (Holder holder = Holder.take(subject, name, run.effort().term())) {
          CompletableFuture<Lease> next = client.lock(name).acquireAsync();
          long killing = System.nanoTime();
          holder.kill();
          long granted;
          try (Lease lease =
              next.get(holder.term().toSeconds() + PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            granted = System.nanoTime();
          } finally {
            next.cancel(true);
          }
          long end = holder.took() + holder.term().toNanos();
          beyond.add((granted - end) / 1e9);
          terms.add(holder.term().toNanos() / 1e9);
          if (i == 0) {
            TimeLineRecorder line = new TimeLineRecorder(holder.took());
            line.at(holder.took(), "a process has the lock");
            line.at(killing, "it is killed");
            line.at(end, "its term is over");
            line.at(granted, "the next process has the lock");
            run.timeLine(subject, line.events());
          }
        }
      }
    }
    run.measured(subject, TERM, terms);
    run.measured(subject, BEYOND, beyond);
  }
}
