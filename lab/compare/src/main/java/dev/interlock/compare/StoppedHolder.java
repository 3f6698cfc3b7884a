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

/** Shows the damage that a holder does to data when it was stopped for longer than its TTL. */
final class StoppedHolder extends Scenario {
  static final Metric WITHOUT_TOKEN =
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
        for longer than its TTL. Meanwhile a second process acquires the lock and reads them, too.
        After it has written half of them, the first process resumes and writes all of them. Then
        the second process writes the other half. No lock can prevent this. If the store checks the
        token of each write, the half that the second process had written is safe. If each process
        also claims its token on the store before it reads, no update is lost.
        """
            .formatted(COUNTERS),
        List.of(WITHOUT_TOKEN, CHECKED, CLAIMED),
        List.of(new Chart.TimeLines()));
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return profile.ttl().plusMillis(900L * backends);
  }

  @Override
  void run(Run run) throws InterruptedException {
    run.inParallel(
        contender -> {
          if (!contender.isShared()) {
            run.skip(contender, "its locks do not outlive the process");
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
      List<Update> lateUpdates = updates(stores, holder.token());
      holder.stop();
      events.put("it has read, and is stopped", System.nanoTime());
      try (Lease lease =
          client
              .lock(name)
              .tryAcquire(holder.ttl().plusSeconds(30))
              .orElseThrow(
                  () ->
                      new IllegalStateException(
                          "the lock of the stopped process did not become free"))) {
        long token = fencing ? lease.fencingToken() : 0;
        events.put("the second holds the lock" + token(fencing, token), System.nanoTime());
        List<Update> updates = updates(stores, token);
        updates.stream()
            .filter(update -> update.counter() < COUNTERS / 2)
            .forEach(update -> update.write(token));
        events.put("it has read all, and written half", System.nanoTime());
        holder.resume();
        // The resumed process writes without checking its lease.
        long lateToken = holder.lateToken();
        lateUpdates.forEach(update -> update.write(lateToken));
        events.put(
            "the first resumes and writes"
                + token(fencing, lateToken)
                + (holder.believesItHolds() ? "" : "; asked, its lease says that it is lost"),
            System.nanoTime());
        updates.stream()
            .filter(update -> update.counter() >= COUNTERS / 2)
            .forEach(update -> update.write(token));
        events.put("the second writes the rest", System.nanoTime());
      }
    }
    run.recordTimeLine(contender, events);
    run.record(contender, WITHOUT_TOKEN, unchecked.lostUpdates());
    if (fencing) {
      run.record(contender, CHECKED, checked.lostUpdates());
      run.record(contender, CLAIMED, claimed.lostUpdates());
    } else {
      run.skip(contender, "it has no fencing tokens");
    }
  }

  private static String token(boolean fencing, long token) {
    return fencing ? ", token " + token : "";
  }

  /** Reads every counter of every store; each update adds one to a counter. */
  private static List<Update> updates(List<Counters> stores, long token) {
    List<Update> updates = new ArrayList<>();
    for (Counters store : stores) {
      for (int i = 0; i < COUNTERS; i++) {
        updates.add(new Update(store, i, store.read(i, token) + 1));
      }
    }
    return updates;
  }

  /** A write that adds one to the value that was read. */
  private record Update(Counters store, int counter, long value) {
    void write(long token) {
      store.write(counter, value, token);
    }
  }

  /** The data: counters on a store that may check tokens. */
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

    /** {@return the number of accepted writes that did not increase the sum} */
    double lostUpdates() {
      return accepted - LongStream.of(values).sum();
    }
  }
}
