package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** How soon a waiter acquires the lock of a process that was killed. */
final class Takeover extends Scenario {
  static final Metric BEYOND = new Metric("beyond-ttl", "granted after TTL", Unit.SECONDS);
  static final Metric TTL = new Metric("effective-ttl", "TTL", Unit.SECONDS);

  private static final long PATIENCE_SECONDS = 30;

  Takeover() {
    super(
        "takeover",
        "Takeover after kill",
        """
        A process acquires a lock and is killed (SIGKILL) at once; another process waits. Measured
        is how long after the end of the TTL the waiter acquires the lock. The TTL is counted from
        when the holder knew that it had the lock, a moment after it began on the store, so that
        the result may be just below zero. A TTL that is longer than the one asked for is the
        store's own.
        """,
        List.of(TTL, BEYOND),
        List.of(new Chart.TimeLines()));
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    Duration start = Duration.ofMillis(900L * backends);
    return profile.ttl().plus(start).multipliedBy(profile.faultRounds());
  }

  @Override
  void run(Run run) throws InterruptedException {
    run.together(
        contender -> {
          if (contender.isShared()) {
            killHolders(run, contender);
          } else {
            run.skip(contender, "its locks end with the process");
          }
        });
  }

  private static void killHolders(Run run, OpenContender contender) throws Exception {
    List<Double> beyond = new ArrayList<>();
    List<Double> ttls = new ArrayList<>();
    try (LockClient client = contender.open()) {
      client.lock(contender.newName()).acquire().close(); // connects
      for (int i = 0; i < run.profile().faultRounds(); i++) {
        String name = contender.newName();
        try (Holder holder = Holder.start(contender, name, run.profile().ttl())) {
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
          long end = holder.acquired() + holder.ttl().toNanos();
          beyond.add((granted - end) / 1e9);
          ttls.add(holder.ttl().toNanos() / 1e9);
          if (i == 0) {
            Map<String, Long> events = new LinkedHashMap<>();
            events.put("a process holds the lock", holder.acquired());
            events.put("it is killed", killing);
            events.put("its TTL ends", end);
            events.put("the next process holds the lock", granted);
            run.timeLine(contender, events);
          }
        }
      }
    }
    run.measured(contender, TTL, null, ttls);
    run.measured(contender, BEYOND, null, beyond);
  }
}
