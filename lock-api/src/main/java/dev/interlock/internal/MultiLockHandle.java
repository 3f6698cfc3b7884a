package dev.interlock.internal;

import com.google.common.collect.ImmutableList;
import dev.interlock.LeaseLostException;
import dev.interlock.LockOptions;
import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.MultiLock;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Several names, taken in one fixed order. The members are kept alive by the renewal schedule while
 * the rest is waited for, whatever the options say; the set's own rules begin when it is complete.
 */
final class MultiLockHandle implements MultiLock {

  private final Engine engine;
  private final ImmutableList<String> names;
  private final LockOptions options;

  MultiLockHandle(Engine engine, ImmutableList<String> names, LockOptions options) {
    this.engine = engine;
    this.names = names;
    this.options = options;
  }

  @Override
  public List<String> names() {
    return names;
  }

  /** How one member is acquired. */
  private interface Step {
    @Nullable LeaseState acquire(Request request) throws InterruptedException;
  }

  /**
   * Takes all, or gives up all and returns null. If one is lost while the others are waited for, or
   * cannot be renewed in the end, it begins again, as long as there is time.
   */
  private @Nullable MultiLease gather(Step step, Deadline deadline, @Nullable Object site)
      throws InterruptedException {
    Backoff backoff = new Backoff(engine.platform(), options.term());
    while (true) {
      try {
        return gatherOnce(step, site);
      } catch (LeaseLostException e) {
        engine.ensureOpen();
        if (deadline.hasPassed()) {
          throw engine.unavailable("one of the set was lost before all were had", e);
        }
        new WakeUp(engine.time()).await(deadline.orIn(backoff.next()));
      }
    }
  }

  private @Nullable MultiLease gatherOnce(Step step, @Nullable Object site)
      throws InterruptedException {
    engine.ensureOpen();
    List<LeaseState> members = new ArrayList<>(names.size());
    boolean complete = false;
    try {
      for (String name : names) {
        LeaseState member = step.acquire(engine.request(name, options, true, null));
        if (member == null) {
          return null;
        }
        members.add(member);
      }
      // Once more before the grant, so that the validity is whole. The last one is fresh, unless it
      // waited for its turn on a session that was confirmed a while ago.
      for (LeaseState member : members) {
        if (member != members.get(members.size() - 1) || !member.isFresh()) {
          renew(member);
        }
      }
      for (LeaseState member : members) {
        member.ensureHeld();
        member.settle();
      }
      complete = true;
      return new MultiLeaseHandle(engine, members, site);
    } finally {
      if (!complete) {
        // Backwards, so that whoever waits for the first finds the others free.
        for (int i = members.size() - 1; i >= 0; i--) {
          members.get(i).release();
        }
      }
    }
  }

  /** A member whose renewal is not answered counts as lost: to ask again would let others age. */
  private static void renew(LeaseState member) throws InterruptedException {
    try {
      member.renew();
    } catch (LockUnavailableException e) {
      throw new LeaseLostException(
          member.name(), LossReason.EXPIRED, "its renewal was not answered", e);
    }
  }

  @Override
  public MultiLease acquire() throws InterruptedException {
    return acquire(CallSites.look());
  }

  private MultiLease acquire(@Nullable Object site) throws InterruptedException {
    Deadline deadline =
        options
            .waitTimeout()
            .map(timeout -> Deadline.in(engine.time(), timeout))
            .orElseGet(() -> Deadline.never(engine.time()));
    MultiLease lease = gather(request -> engine.acquire(request, deadline), deadline, site);
    if (lease == null) {
      throw new LockTimeoutException(
          String.join(", ", names), options.waitTimeout().orElse(Duration.ZERO));
    }
    return lease;
  }

  @Override
  public Optional<MultiLease> tryAcquire() {
    boolean interrupted = Thread.interrupted();
    try {
      Deadline now = Deadline.at(engine.time(), engine.time().nanoTime());
      return Optional.ofNullable(gather(engine::tryAcquire, now, CallSites.look()));
    } catch (InterruptedException e) {
      interrupted = true;
      throw engine.unavailable("interrupted while asking", e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public Optional<MultiLease> tryAcquire(Duration timeout) throws InterruptedException {
    return tryAcquire(Deadline.in(engine.time(), Engine.checkedTimeout(timeout)), CallSites.look());
  }

  private Optional<MultiLease> tryAcquire(Deadline deadline, @Nullable Object site)
      throws InterruptedException {
    return Optional.ofNullable(
        gather(
            request ->
                deadline.hasPassed()
                    ? engine.tryAcquire(request)
                    : engine.tryAcquire(request, deadline.remaining().plusNanos(1)),
            deadline,
            site));
  }

  @Override
  public CompletableFuture<MultiLease> acquireAsync() {
    Object site = CallSites.look();
    return async(() -> acquire(site), lease -> lease);
  }

  @Override
  public CompletableFuture<Optional<MultiLease>> tryAcquireAsync(Duration timeout) {
    Deadline deadline = Deadline.in(engine.time(), Engine.checkedTimeout(timeout));
    Object site = CallSites.look();
    return async(() -> tryAcquire(deadline, site), lease -> lease.orElse(null));
  }

  private interface Blocking<R> {
    R run() throws InterruptedException;
  }

  private interface LeaseOf<R> {
    @Nullable MultiLease in(R result);
  }

  /** Runs a blocking acquisition on one of the client's threads; cancelling interrupts it. */
  private <R> CompletableFuture<R> async(Blocking<R> acquisition, LeaseOf<R> leaseOf) {
    engine.ensureOpen();
    CompletableFuture<R> future = new CompletableFuture<>();
    InterruptibleRun run = new InterruptibleRun();
    Runnable task =
        () -> {
          if (!run.begin()) {
            return;
          }
          try {
            R result = acquisition.run();
            run.end();
            engine.notifier().run(() -> deliver(future, result, leaseOf.in(result)));
          } catch (InterruptedException | RuntimeException | Error e) {
            run.end();
            engine.notifier().run(() -> future.completeExceptionally(e));
          }
        };
    var unused =
        future.whenComplete(
            (value, failure) -> {
              if (future.isCancelled()) {
                run.cancel();
              }
            });
    try {
      engine.threads().gatherings().execute(task);
    } catch (RejectedExecutionException e) {
      throw engine.closed();
    }
    return future;
  }

  private static <R> void deliver(
      CompletableFuture<R> future, R result, @Nullable MultiLease lease) {
    if (!future.complete(result) && lease != null) {
      lease.release();
    }
  }

  @Override
  public String toString() {
    return "MultiLock" + names;
  }
}
