package dev.interlock.compare;

import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import dev.interlock.tck.process.ProcessSignals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/** What a holder that was stopped for longer than its TTL does to the data. */
final class StoppedHolder extends Scenario {
  static final Metric UNCHECKED =
      new Metric("lost-updates-unchecked", "lost updates, no token", Unit.COUNT);
  static final Metric CHECKED =
      new Metric("lost-updates-checked", "token checked on write", Unit.COUNT);
  static final Metric CLAIMED =
      new Metric("lost-updates-claimed", "token claimed before reading", Unit.COUNT);

  private static final int COUNTERS = 100;

  StoppedHolder() {
    super(
        "stopped-holder",
        "Stopped holder",
        """
        A process acquires a lock, reads %d counters to add one to each, and is stopped (SIGSTOP)
        for longer than its TTL. Meanwhile another one acquires the lock and reads them too. When it
        has written half of them, the first one resumes and writes all. Then the second writes the
        other half. No lock can prevent that. If the store checks the token of each write, it saves
        the half that the second had written before. If each lease also claims its token there
        before it reads, no update is lost.
        """
            .formatted(COUNTERS),
        List.of(UNCHECKED, CHECKED, CLAIMED),
        List.of(new Chart.TimeLines()));
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return profile.ttl().plusMillis(900L * backends);
  }

  @Override
  void run(Run run) throws InterruptedException {
    run.together(
        contender -> {
          if (!contender.isShared()) {
            run.skip(contender, "its locks stop with the process");
          } else if (!ProcessSignals.supported()) {
            run.skip(contender, "processes can be stopped on Linux only");
          } else {
            demonstrate(run, contender);
          }
        });
  }

  private static void demonstrate(Run run, OpenContender contender) throws Exception {
    boolean fencing = contender.info().has(Capability.FENCING);
    String name = contender.newName();
    Counters unchecked = new Counters(false, false);
    Counters checked = new Counters(false, true);
    Counters claimed = new Counters(true, true);
    List<Counters> stores = List.of(unchecked, checked, claimed);
    Map<String, Long> events = new LinkedHashMap<>();
    try (LockClient client = contender.open();
        Holder holder = Holder.start(contender, name, run.profile().ttl())) {
      events.put("the first holds the lock" + token(fencing, holder.token()), holder.acquired());
      List<Update> late = updates(stores, holder.token());
      holder.stop();
      events.put("it has read, and is stopped", System.nanoTime());
      try (Lease lease =
          client
              .lock(name)
              .tryAcquire(holder.ttl().plusSeconds(30))
              .orElseThrow(() -> new IllegalStateException("the lock never became free"))) {
        long token = fencing ? lease.fencingToken() : 0;
        events.put("the second holds the lock" + token(fencing, token), System.nanoTime());
        List<Update> updates = updates(stores, token);
        updates.stream()
            .filter(update -> update.counter() < COUNTERS / 2)
            .forEach(update -> update.write(token));
        events.put("it has read all, and written half", System.nanoTime());
        holder.resume();
        // It writes without asking whether its lease is still held.
        long lateToken = holder.writesWith();
        late.forEach(update -> update.write(lateToken));
        events.put(
            "the first resumes and writes"
                + token(fencing, lateToken)
                + (holder.thinksThatItHolds() ? "" : "; asked, its lease says that it is lost"),
            System.nanoTime());
        updates.stream()
            .filter(update -> update.counter() >= COUNTERS / 2)
            .forEach(update -> update.write(token));
        events.put("the second writes the rest", System.nanoTime());
      }
    }
    run.timeLine(contender, events);
    run.measured(contender, UNCHECKED, unchecked.lost());
    if (fencing) {
      run.measured(contender, CHECKED, checked.lost());
      run.measured(contender, CLAIMED, claimed.lost());
    } else {
      run.skip(contender, "it has no tokens that could be checked");
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
    private int accepted;

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
      accepted++;
    }

    /** Accepted writes, each of which should have added one, that added none. */
    double lost() {
      return accepted - LongStream.of(values).sum();
    }
  }
}
