package dev.interlock.internal;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Share;
import java.lang.ref.Reference;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The holds of a client's threads through {@link LockView}s, by name and thread. */
final class ThreadHolds {

  private record Key(String name, Thread thread) {}

  /** The hold of one thread, which only that thread uses. */
  private static final class Hold {
    private final LeaseState state;
    private @Nullable Lease lease;
    private long count = 1;

    Hold(LeaseState state) {
      this.state = state;
    }

    boolean isOf(Share share) {
      return state.request().share().equals(share);
    }

    Lease lease() {
      if (lease == null) {
        lease = new LeaseHandle(state);
      }
      return lease;
    }
  }

  private final ConcurrentHashMap<Key, Hold> holds = new ConcurrentHashMap<>();

  /** Holds whose lease was lost; their threads learn of the loss when they unlock. */
  private final Set<Key> lost = ConcurrentHashMap.newKeySet();

  /**
   * Adds a hold if the current thread already has one; returns whether it has.
   *
   * @throws IllegalStateException if the thread holds the other side of the read-write lock: it
   *     would wait for itself forever
   */
  boolean reenter(String name, Share share) {
    Key key = new Key(name, Thread.currentThread());
    Hold hold = holds.get(key);
    if (hold == null) {
      return false;
    }
    if (!hold.isOf(share)) {
      throw new IllegalStateException(
          "thread %s holds \"%s\" in another mode; unlock that first"
              .formatted(key.thread().getName(), name));
    }
    hold.state.ensureHeld();
    hold.count = Math.incrementExact(hold.count);
    return true;
  }

  /** Begins the first hold of the current thread; returns true. */
  boolean beginHold(LeaseState lease) {
    Key key = new Key(lease.name(), Thread.currentThread());
    holds.put(key, new Hold(lease));
    lease.onLoss(
        loss -> {
          lost.add(key);
          removeHoldsOfDeadThreads();
        });
    removeHoldsOfDeadThreads();
    return true;
  }

  /** Removes lost holds of threads that have ended, which can no longer unlock. */
  private void removeHoldsOfDeadThreads() {
    lost.removeIf(
        key -> {
          if (key.thread().isAlive()) {
            return !holds.containsKey(key);
          }
          holds.remove(key);
          return true;
        });
  }

  /**
   * Ends one hold of the current thread.
   *
   * @throws IllegalMonitorStateException if the thread holds nothing
   * @throws LeaseLostException if the lease was lost
   */
  void endHold(String name, Share share) {
    StackRoom.require();
    Key key = new Key(name, Thread.currentThread());
    Hold hold = holds.get(key);
    if (hold == null || !hold.isOf(share)) {
      throw new IllegalMonitorStateException(
          "thread " + key.thread().getName() + " does not hold the lock \"" + name + "\"");
    }
    if (--hold.count > 0) {
      hold.state.ensureHeld();
      return;
    }
    holds.remove(key);
    lost.remove(key);
    try {
      if (hold.state.release(null) == ReleaseOutcome.ALREADY_LOST) {
        hold.state.ensureHeld();
      }
    } finally {
      Reference.reachabilityFence(hold); // until here, the lease must not look abandoned
    }
  }

  /** Returns the lease of the current thread's hold; empty if it has none. */
  Optional<Lease> lease(String name, Share share) {
    Hold hold = holds.get(new Key(name, Thread.currentThread()));
    return hold != null && hold.isOf(share) ? Optional.of(hold.lease()) : Optional.empty();
  }

  int size() {
    return holds.size();
  }
}
