package dev.interlock.compare;

import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.tck.process.ProcessSignals;
import java.time.Duration;
import java.util.List;

/** What a holder does to the data that stood still for longer than its term. */
final class StoppedHolder implements Scenario {
  static final String ID = "stopped-holder";
  static final Metric UNCHECKED =
      new Metric("lost-updates-unchecked", "lost updates, no check", Unit.COUNT);
  static final Metric CHECKED =
      new Metric("lost-updates-checked", "lost updates, token checked", Unit.COUNT);

  private static final int UPDATES = 100;

  @Override
  public String id() {
    return ID;
  }

  @Override
  public String title() {
    return "A stopped holder writes late";
  }

  @Override
  public String explanation() {
    return "A process takes a lock, reads a counter, and is stopped (SIGSTOP) for longer than its"
        + " term. Meanwhile another one gets the lock and adds "
        + UPDATES
        + " to the counter. Then the first one goes on and writes what it had meant to. No lock can"
        + " prevent that; a store that refuses tokens below the highest it has seen does.";
  }

  @Override
  public List<Column> columns(Effort effort) {
    return List.of(new Column(UNCHECKED), new Column(CHECKED));
  }

  @Override
  public List<Chart> charts() {
    return List.of(new Chart.TimeLines("What happened when"));
  }

  @Override
  public Duration estimate(Effort effort, int backends) {
    return effort.term().plusMillis(900L * backends);
  }

  @Override
  public void run(Run run) throws InterruptedException {
    run.together(
        subject -> {
          if (!subject.isShared()) {
            run.skip(subject, "its locks stop with the process");
          } else if (!ProcessSignals.supported()) {
            run.skip(subject, "processes can be stopped on Linux only");
          } else {
            demonstrate(run, subject);
          }
        });
  }

  private static void demonstrate(Run run, Subject subject) throws Exception {
    boolean fencing = subject.info().has(Capability.FENCING);
    String name = subject.newName();
    Counter unchecked = new Counter(false);
    Counter checked = new Counter(true);
    try (LockClient client = subject.open();
        Holder holder = Holder.take(subject, name, run.effort().term())) {
      TimeLineRecorder line = new TimeLineRecorder(holder.took());
      line.at(holder.took(), "the first has the lock" + token(fencing, holder.token()));
      long meant = unchecked.read() + 1;
      holder.stop();
      line.at(System.nanoTime(), "it is stopped");
      try (Lease lease =
          client
              .lock(name)
              .tryAcquire(holder.term().plusSeconds(30))
              .orElseThrow(() -> new IllegalStateException("the lock never became free"))) {
        long token = fencing ? lease.fencingToken() : 0;
        line.at(System.nanoTime(), "the second has the lock" + token(fencing, token));
        for (int i = 0; i < UPDATES; i++) {
          unchecked.write(unchecked.read() + 1, token);
          checked.write(checked.read() + 1, token);
        }
      }
      holder.resume();
      long late = holder.writesWith();
      unchecked.write(meant, late);
      boolean taken = checked.write(meant, late);
      line.at(
          System.nanoTime(),
          "the first goes on and writes"
              + token(fencing, late)
              + (taken ? "" : ": refused where tokens are checked")
              + (holder.thinksThatItHolds() ? "" : "; asked, its lease says that it is lost"));
      run.timeLine(subject, line.events());
    }
    // The late write is an update that was reported as done, too.
    run.measured(subject, UNCHECKED, List.of((double) (UPDATES + 1 - unchecked.read())));
    if (fencing) {
      run.measured(subject, CHECKED, List.of((double) (UPDATES - checked.read())));
    } else {
      run.skip(subject, "it has no tokens that could be checked");
    }
  }

  private static String token(boolean fencing, long token) {
    return fencing ? ", token " + token : "";
  }

  /** Stands for the data; updates are read, and then written. */
  private static final class Counter {
    private final boolean checksTokens;
    private long highest;
    private long value;

    Counter(boolean checksTokens) {
      this.checksTokens = checksTokens;
    }

    long read() {
      return value;
    }

    /** Returns whether it was taken. */
    boolean write(long newValue, long token) {
      if (checksTokens && token < highest) {
        return false;
      }
      highest = Math.max(highest, token);
      value = newValue;
      return true;
    }
  }
}
