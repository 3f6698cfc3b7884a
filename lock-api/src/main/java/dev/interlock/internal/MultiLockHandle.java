package dev.interlock.internal;

import dev.interlock.LeaseLostException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.MultiLock;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Share;
import dev.interlock.spi.WakeUp;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A lock on several names, acquired in one fixed order. While it waits for more members, it always
 * renews those that it has; the options apply once the set is complete.
 */
final class MultiLockHandle extends AcquirableHandle<MultiLease> implements MultiLock {

  private final List<String> names;

  MultiLockHandle(Acquirer acquirer, List<String> names, LockOptions options) {
    super(acquirer, String.join(", ", names), Share.EXCLUSIVE, options);
    this.names = names;
  }

  @Override
  public List<String> names() {
    return names;
  }

  @Override
  @Nullable MultiLease acquire(Request request) throws InterruptedException {
    return acquireAll(request, CallSites.find());
  }

  @Override
  <R> CompletableFuture<R> acquireAsync(Request request, Function<@Nullable MultiLease, R> result) {
    engine.ensureOpen();
    return new AsyncSetAcquisition<>(request, result).start();
  }

  /**
   * Acquires all members, or releases all and returns null. If a member is lost during the wait for
   * the others, or cannot be renewed at the end, it starts over while there is time.
   */
  private @Nullable MultiLeaseHandle acquireAll(Request request, @Nullable Object site)
      throws InterruptedException {
    Backoff backoff = new Backoff(engine.platform, options.ttl());
    while (true) {
      try {
        return tryAcquireAll(request, site);
      } catch (LeaseLostException e) {
        engine.ensureOpen();
        if (request.isOver()) {
          throw engine.unavailable(
              request.name(), "a member of the set was lost before all were acquired", e);
        }
        new WakeUp(engine.platform).await(request.deadline().atMost(backoff.next()));
      }
    }
  }

  private @Nullable MultiLeaseHandle tryAcquireAll(Request request, @Nullable Object site)
      throws InterruptedException {
    engine.ensureOpen();
    List<LeaseState> members = new ArrayList<>(names.size());
    MultiLeaseHandle lease = null;
    try {
      for (String name : names) {
        requireTime(request);
        if (BlockingAcquisition.acquire(acquirer, request.member(name), members::add) == null) {
          return null;
        }
      }
      renew(members, request);
      members.forEach(LeaseState::onSetComplete);
      lease = new MultiLeaseHandle(engine, members, site);
    } finally {
      if (lease == null) {
        releaseAll(members);
      }
    }
    return lease;
  }

  private void requireTime(Request request) {
    if (request.lastDeadline().hasPassed()) {
      throw engine.unavailable(
          request.name(), "the store was too slow to acquire all members of the set in time", null);
    }
  }

  /**
   * Renews the members once more, so that the set begins with a whole validity. The last member is
   * fresh, unless it waited on a session that was confirmed a while ago. Without an answer, all
   * members count as lost: another request would let them age.
   */
  private void renew(List<LeaseState> members, Request request) throws InterruptedException {
    int last = members.size() - 1;
    List<LeaseState> stale =
        members.get(last).grant().isFresh() ? members.subList(0, last) : members;
    if (stale.isEmpty()) {
      return;
    }
    requireTime(request);
    try {
      engine.renewer.renewNow(
          stale.stream().map(LeaseState::grant).toList(),
          request.storeDeadline(engine.requestTimeout()));
    } catch (LockUnavailableException e) {
      throw new LeaseLostException(
          request.name(), LossReason.EXPIRED, "the store did not answer its renewal", e);
    }
    members.forEach(LeaseState::ensureHeld);
  }

  /** Releases all members. If the store hangs, waits no longer than for one request. */
  private void releaseAll(List<LeaseState> members) {
    Deadline deadline = null;
    try {
      deadline = engine.requestDeadline();
    } catch (Throwable e) {
      Timer.logFailure("releasing an incomplete set", e);
    }
    // In reverse order, so that a waiter for the first member finds the others free.
    for (int i = members.size() - 1; i >= 0; i--) {
      Release.releaseUnused(members.get(i), deadline);
    }
  }

  private final class AsyncSetAcquisition<R> extends AsyncTask<MultiLeaseHandle, R> {
    private final @Nullable Object site = CallSites.find();

    AsyncSetAcquisition(Request request, Function<@Nullable MultiLease, R> result) {
      super(request, result::apply, new CompletableFuture<>());
    }

    @Override
    void enter() {
      var unused = execute(engine.threads.setAcquisitions);
    }

    @Override
    @Nullable MultiLeaseHandle work() throws InterruptedException {
      return acquireAll(request, site);
    }

    @Override
    void releaseUnused(MultiLeaseHandle lease) {
      lease.releaseUnused();
    }
  }

  @Override
  public String toString() {
    return "MultiLock" + names;
  }
}
