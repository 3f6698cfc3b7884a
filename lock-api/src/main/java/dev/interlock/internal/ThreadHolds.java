package dev.interlock.internal;

import dev.interlock.LeaseLostException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Share;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** What the threads of a client hold through {@link LockView}s, by name and thread. */
final class ThreadHolds {

  private record Key(String name, Thread thread) {}

  /** One thread's hold. Only that thread uses it. */
  static final class Hold {
    private final LeaseState lease;
    private long count = 1;

    private Hold(LeaseState lease) {
      this.lease = lease;
    }

    /** Adds a hold. */
    void enter() {
      lease.ensureHeld();
      if (count == Long.MAX_VALUE) {
        throw new Error("maximum lock count exceeded");
      }
      count++;
    }
  }

  private final ConcurrentHashMap<Key, Hold> holds = new ConcurrentHashMap<>();

  /** Holds whose lease was lost, and whose thread will learn of it by its unlock. */
  private final Set<Key> lost = ConcurrentHashMap.newKeySet();

  /**
   * The current thread's hold, or null.
   *
   * @throws IllegalStateException if it holds the other side of a read-write lock, for which it
   *     would wait for ever
   */
  @Nullable Hold current(String name, Share share) {
    Hold hold = holds.get(new Key(name, Thread.currentThread()));
    if (hold != null && !hold.lease.request().share().equals(share)) {
      throw new IllegalStateException(
          "thread "
              + Thread.currentThread().getName()
              + " holds \""
              + name
              + "\" in another mode; unlock that first");
    }
    return hold;
  }

  void begin(LeaseState lease) {
    Key key = new Key(lease.name(), Thread.currentThread());
    holds.put(key, new Hold(lease));
    lease.onLoss(
        loss -> {
          lost.add(key);
          forgetDead();
        });
    forgetDead();
  }

  /** Normally unlock ends a hold; a thread that has ended before can no longer do that. */
  private void forgetDead() {
    if (!lost.isEmpty()) {
      lost.removeIf(
          key -> {
            if (key.thread().isAlive()) {
              return !holds.containsKey(key);
            }
            holds.remove(key);
            return true;
          });
    }
  }

  /**
   * Ends one hold of the current thread.
   *
   * @throws IllegalMonitorStateException if it holds nothing
   * @throws LeaseLostException if the lease was lost
   */
  void leave(String name, Share share) {
    StackRoom.require();
    Key key = new Key(name, Thread.currentThread());
    Hold hold = holds.get(key);
    if (hold == null || !hold.lease.request().share().equals(share)) {
      throw new IllegalMonitorStateException(
          "thread " + key.thread().getName() + " does not hold the lock \"" + name + "\"");
    }
    if (--hold.count > 0) {
      hold.lease.ensureHeld();
      return;
    }
    holds.remove(key);
    lost.remove(key);
    if (hold.lease.release(null) == ReleaseOutcome.ALREADY_LOST) {
      hold.lease.ensureHeld();
    }
  }

  int size() {
    return holds.size();
  }
}
