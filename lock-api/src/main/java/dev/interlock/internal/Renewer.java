package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Renewal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Renews what is due, in batches: what comes due together goes to the store together. Never more
 * than two requests are under way, however many leases there are.
 */
final class Renewer {

  private static final int BATCH = 256;

  private final Engine engine;

  @GuardedBy("this")
  private List<LeaseState> due = new ArrayList<>();

  Renewer(Engine engine) {
    this.engine = engine;
  }

  /** Notes a lease for the next {@link #flush}. */
  synchronized void due(LeaseState lease) {
    due.add(lease);
  }

  /** Sends off what has been noted. Called on the timer's thread; does not block. */
  void flush() {
    List<LeaseState> all;
    synchronized (this) {
      if (due.isEmpty()) {
        return;
      }
      all = due;
      due = new ArrayList<>();
    }
    // A request waits for as long as the most impatient of its leases: only equals go together.
    Map<Duration, List<LeaseState>> equals = new LinkedHashMap<>();
    for (LeaseState lease : all) {
      equals.computeIfAbsent(lease.patience(), patience -> new ArrayList<>()).add(lease);
    }
    equals.forEach(
        (patience, leases) -> {
          for (int from = 0; from < leases.size(); from += BATCH) {
            start(leases.subList(from, Math.min(leases.size(), from + BATCH)), patience);
          }
        });
  }

  private void start(List<LeaseState> batch, Duration patience) {
    try {
      engine.threads.renewal.execute(() -> renew(batch, patience));
    } catch (RuntimeException | Error e) {
      // The client was closed, or has no thread for it. Each lease asks again until it has ended.
      Engine.log.debug("{} renewals have to wait", batch.size(), e);
    }
  }

  private void renew(List<LeaseState> batch, Duration patience) {
    CompletableFuture<Boolean> round = new CompletableFuture<>();
    List<LeaseState> leases = new ArrayList<>(batch.size());
    List<Grant> grants = new ArrayList<>(batch.size());
    List<Renewal> outcomes = List.of();
    LockException problem = engine.unavailable("the renewal was broken off", null);
    long sentAt = engine.platform.nanoTime();
    long offset = engine.clockOffset();
    try {
      for (LeaseState lease : batch) {
        if (lease.startRenewal(round, false) == round) {
          leases.add(lease);
          grants.add(lease.grant());
        }
      }
      if (leases.isEmpty()) {
        return;
      }
      outcomes = engine.store.renewAll(grants, Deadline.in(engine.platform, patience));
    } catch (LockException e) {
      problem = e;
    } catch (InterruptedException e) {
      // Nobody interrupts these threads but a JVM that is going down.
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error e) {
      Engine.log.error("the backend failed to renew {} leases", grants.size(), e);
    } finally {
      for (int i = 0; i < leases.size(); i++) {
        Renewal outcome = i < outcomes.size() ? outcomes.get(i) : new Renewal.Failed(problem);
        finish(leases.get(i), round, outcome, sentAt, offset);
      }
      round.complete(true);
    }
  }

  /** What fails for one of them is not held against the others. */
  private static void finish(
      LeaseState lease,
      CompletableFuture<Boolean> round,
      Renewal outcome,
      long sentAt,
      long offset) {
    try {
      lease.finishRenewal(round, outcome, sentAt, offset, false);
    } catch (RuntimeException | Error e) {
      Engine.log.error("the renewal of \"{}\" could not be finished", lease.name(), e);
    }
  }
}
