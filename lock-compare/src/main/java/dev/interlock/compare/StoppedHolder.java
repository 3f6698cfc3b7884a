package dev.interlock.compare;

import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import dev.interlock.tck.process.ProcessSignals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/** What a holder does to the data that stood still for longer than its TTL. */
final class StoppedHolder implements Scenario {
  static final String ID = "stopped-holder";
  static final Metric UNCHECKED =
      new Metric("lost-updates-unchecked", "lost updates, no token", Unit.COUNT);
  static final Metric CHECKED =
      new Metric("lost-updates-checked", "token checked on write", Unit.COUNT);
  static final Metric CLAIMED =
      new Metric("lost-updates-claimed", "token claimed before reading", Unit.COUNT);

  private static final int COUNTERS = 100;

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
    return "A process takes a lock, reads "
        + COUNTERS
        + " counters to add one to each, and is stopped (SIGSTOP) for longer than its TTL."
        + " Meanwhile another one gets the lock and reads them too. When it has written half of"
        + " them, the first one goes on and writes all. Then the second writes the other half. No"
        + " lock can prevent that. If the store checks the token of each write, it saves the half"
        + " that the second had written before. If each lease also claims its token there before it"
        + " reads, nothing is lost.";
  }

  @Override
  public List<Column> columns(Effort effort) {
    return List.of(new Column(UNCHECKED), new Column(CHECKED), new Column(CLAIMED));
  }

  @Override
  public List<Chart> charts() {
    return List.of(new Chart.TimeLines("What happened when"));
  }

  @Override
  public Duration estimate(Effort effort, int backends) {
    return effort.ttl().plusMillis(900L * backends);
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
    Counters unchecked = new Counters(false, false);
    Counters checked = new Counters(false, true);
    Counters claimed = new Counters(true, true);
    List<Counters> stores = List.of(unchecked, checked, claimed);
    try (LockClient client = subject.open();
        Holder holder = Holder.take(subject, name, run.effort().ttl())) {
      TimeLineRecorder line = new TimeLineRecorder(holder.took());
      line.at(holder.took(), "the first has the lock" + token(fencing, holder.token()));
      List<Update> late = updates(stores, holder.token());
      holder.stop();
      line.at(System.nanoTime(), "it has read, and is stopped");
      try (Lease lease =
          client
              .lock(name)
              .tryAcquire(holder.ttl().plusSeconds(30))
              .orElseThrow(() -> new IllegalStateException("the lock never became free"))) {
        long token = fencing ? lease.fencingToken() : 0;
        line.at(System.nanoTime(), "the second has the lock" + token(fencing, token));
        List<Update> updates = updates(stores, token);
        updates.stream()
            .filter(update -> update.counter() < COUNTERS / 2)
            .forEach(update -> update.write(token));
        line.at(System.nanoTime(), "it has read all, and written half");
        holder.resume();
        // Without a look at whether its lease is still held.
        long lateToken = holder.writesWith();
        late.forEach(update -> update.write(lateToken));
        line.at(
            System.nanoTime(),
            "the first goes on and writes"
                + token(fencing, lateToken)
                + (holder.thinksThatItHolds() ? "" : "; asked, its lease says that it is lost"));
        updates.stream()
            .filter(update -> update.counter() >= COUNTERS / 2)
            .forEach(update -> update.write(token));
        line.at(System.nanoTime(), "the second writes the rest");
      }
      run.timeLine(subject, line.events());
    }
    run.measured(subject, UNCHECKED, List.of((double) unchecked.lost()));
    if (fencing) {
      run.measured(subject, CHECKED, List.of((double) checked.lost()));
      run.measured(subject, CLAIMED, List.of((double) claimed.lost()));
    } else {
      run.skip(subject, "it has no tokens that could be checked");
    }
  }

  private static String token(boolean fencing, long token) {
    return fencing ? ", token " + token : "";
  }

  /** Reads every counter of every store, to add one to it later. */
  private static List<Update> updates(List<Counters> stores, long token) {
    List<Update> updates = new ArrayList<>();
    for (Counters store : stores) {
      for (int i = 0; i < COUNTERS; i++) {
        updates.add(new Update(store, i, store.read(i, token) + 1));
      }
    }
    return updates;
  }

  /** What a lease is about to write. */
  private record Update(Counters store, int counter, long value) {
    void write(long token) {
      store.write(counter, value, token);
    }
  }

  /** Stands for the data: what reads and writes make of the token that they carry. */
  private static final class Counters {
    private final boolean readsClaim;
    private final boolean writesCheck;
    private final long[] highest = new long[COUNTERS];
    private final long[] values = new long[COUNTERS];
    private int taken;

    Counters(boolean readsClaim, boolean writesCheck) {
      this.readsClaim = readsClaim;
      this.writesCheck = writesCheck;
    }

    long read(int counter, long token) {
      if (readsClaim) {
        highest[counter] = Math.max(highest[counter], token);
      }
      return values[counter];
    }

    void write(int counter, long value, long token) {
      if (writesCheck && token < highest[counter]) {
        return;
      }
      highest[counter] = Math.max(highest[counter], token);
      values[counter] = value;
      taken++;
    }

    /** Writes that were taken, each of which should have added one, and did not. */
    long lost() {
      return taken - LongStream.of(values).sum();
    }
  }
}
