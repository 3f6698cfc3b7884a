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

/** Measures how soon a waiter acquires the lock of a process that was killed. */
final class Takeover extends Scenario {
  static final Metric AFTER_TTL = new Metric("beyond-ttl", "granted after TTL", Unit.SECONDS);
  static final Metric TTL = new Metric("effective-ttl", "TTL", Unit.SECONDS);

  private static final long EXTRA_WAIT_SECONDS = 30;

  Takeover() {
    super(
        "takeover",
        "Takeover after kill",
        """
        A process acquires a lock and is killed (SIGKILL) at once; another process waits. The result
        is the time from the end of the TTL until the waiter acquires the lock. It can be slightly
        negative, because the TTL is counted from the time when the holder received its grant, and
        it begins on the store a moment earlier. If the TTL is longer than requested, the store has
        raised it.
        """,
        List.of(TTL, AFTER_TTL),
        List.of(new Chart.TimeLines()));
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    Duration start = Duration.ofMillis(900L * backends);
    return profile.ttl().plus(start).multipliedBy(profile.faultRounds());
  }

  @Override
  void run(Run run) throws InterruptedException {
    run.inParallel(
        contender -> {
          if (contender.isShared()) {
            killHolders(run, contender);
          } else {
            run.skip(contender, "its locks do not outlive the process");
          }
        });
  }

  private static void killHolders(Run run, OpenContender contender) throws Exception {
    List<Double> afterTtl = new ArrayList<>();
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
              next.get(holder.ttl().toSeconds() + EXTRA_WAIT_SECONDS, TimeUnit.SECONDS)) {
            granted = System.nanoTime();
          } finally {
            next.cancel(true);
          }
          long end = holder.acquired() + holder.ttl().toNanos();
          afterTtl.add((granted - end) / 1e9);
          ttls.add(holder.ttl().toNanos() / 1e9);
          if (i == 0) {
            Map<String, Long> events = new LinkedHashMap<>();
            events.put("a process holds the lock", holder.acquired());
            events.put("it is killed", killing);
            events.put("its TTL ends", end);
            events.put("the next process holds the lock", granted);
            run.recordTimeLine(contender, events);
          }
        }
      }
    }
    run.record(contender, TTL, null, ttls);
    run.record(contender, AFTER_TTL, null, afterTtl);
  }
}
