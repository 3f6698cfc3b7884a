package dev.interlock.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The locks of one {@code memory:} name: for each lock the holder and a queue of waiters. Nothing
 * happens at the moment of expiry, but every later request finds the lock free.
 */
final class MemoryStore {

  /** Called when a holder loses its lock neither by its own release nor by its TTL. */
  interface LossListener {
    void lost(Claim claim, LossReason reason, String detail);
  }

  /** A claim that is in the queue, or holds the lock. */
  static final class Place {
    private final Claim claim;
    private final TimeSource time;
    private final LossListener lossListener;

    /** Made when the place enters the queue, which most never do. */
    private volatile @Nullable WakeUp wakeUp;

    private volatile boolean granted;
    private long token;
    private long grantedAt;
    private long grantedAtWallMillis;

    Place(Claim claim, TimeSource time, LossListener lossListener) {
      this.claim = claim;
      this.time = time;
      this.lossListener = lossListener;
    }

    Claim claim() {
      return claim;
    }

    /** {@return the signal of the grant; null if the lock was granted at once} */
    @Nullable WakeUp wakeUp() {
      return wakeUp;
    }

    void signal() {
      WakeUp waiting = wakeUp;
      if (waiting != null) {
        waiting.signal();
      }
    }

    boolean isGranted() {
      return granted;
    }

    /** {@return the fencing token, once the lock is granted} */
    long token() {
      return token;
    }

    /** {@return when the lock was granted} */
    long grantedAt() {
      return grantedAt;
    }
  }

  private static final class Entry {
    @Nullable Place holder;
    long expiresAt;
    boolean revoked;

    Map<String, Place> line = Map.of();

    void join(Place place) {
      if (line.isEmpty()) {
        line = new LinkedHashMap<>();
      }
      place.wakeUp = new WakeUp(place.time);
      line.put(place.claim.id(), place);
    }

    void leave(Claim claim) {
      if (!line.isEmpty()) {
        line.remove(claim.id());
      }
    }
  }

  private static final int FEWEST_TO_SWEEP = 64;

  // One for the JVM, so that tokens keep rising when a store is closed and opened again.
  private static final AtomicLong TOKENS = new AtomicLong();

  @GuardedBy("STORES")
  private static final Map<String, MemoryStore> STORES = new HashMap<>();

  private final String storeName;
  private final ConcurrentHashMap<String, Entry> entries = new ConcurrentHashMap<>();

  @GuardedBy("STORES")
  private int clients;

  /** With more entries than this, a new claim looks for those whose TTL is over. */
  private volatile int sweepAbove = FEWEST_TO_SWEEP;

  private MemoryStore(String storeName) {
    this.storeName = storeName;
  }

  static MemoryStore open(String name) {
    synchronized (STORES) {
      MemoryStore store = STORES.computeIfAbsent(name, MemoryStore::new);
      store.clients++;
      return store;
    }
  }

  void close() {
    synchronized (STORES) {
      if (--clients == 0) {
        STORES.remove(storeName, this);
      }
    }
  }

  /** Grants the lock if it is free and has no waiters. */
  Place tryAcquire(Place place, long now) {
    forgetExpired(now);
    entries.compute(
        place.claim.name(),
        (name, entry) -> {
          Entry current = settled(entry, now);
          if (current == null) {
            current = new Entry();
            grant(current, place, now);
          }
          return current;
        });
    return place;
  }

  /** Grants the lock if it is free and has no waiters; enters the queue otherwise. */
  void join(Place place, long now) {
    forgetExpired(now);
    entries.compute(
        place.claim.name(),
        (name, entry) -> {
          Entry current = settled(entry, now);
          if (current == null) {
            current = new Entry();
            grant(current, place, now);
          } else {
            current.join(place);
          }
          return current;
        });
  }

  /** Serves the next waiter if the holder's TTL is over; returns when the new holder's TTL ends. */
  long settle(String name, long now) {
    long[] end = {now};
    entries.compute(
        name,
        (n, entry) -> {
          Entry current = settled(entry, now);
          if (current != null) {
            end[0] = current.expiresAt;
          }
          return current;
        });
    return end[0];
  }

  boolean renew(Claim claim, long now) {
    boolean[] renewed = new boolean[1];
    entries.compute(
        claim.name(),
        (name, entry) -> {
          Entry current = settled(entry, now);
          if (current != null && holds(current, claim) && !current.revoked) {
            current.expiresAt = now + claim.ttl().toNanos();
            renewed[0] = true;
          }
          return current;
        });
    return renewed[0];
  }

  boolean release(Claim claim, long now) {
    boolean[] held = new boolean[1];
    entries.compute(
        claim.name(),
        (name, entry) -> {
          Entry current = settled(entry, now);
          if (current == null) {
            return null;
          }
          current.leave(claim);
          if (!holds(current, claim)) {
            return current;
          }
          held[0] = true;
          return moveOn(current, now);
        });
    return held[0];
  }

  LockState inspect(String name, long now) {
    LockState[] state = {LockState.free(name)};
    entries.compute(
        name,
        (n, entry) -> {
          Entry current = settled(entry, now);
          if (current != null && current.holder != null) {
            state[0] =
                LockState.held(
                        name,
                        current.holder.claim.holder(),
                        current.holder.token(),
                        Duration.ofNanos(current.expiresAt - now),
                        current.line.values().stream().map(place -> place.claim.holder()).toList())
                    .withHeldSince(Instant.ofEpochMilli(current.holder.grantedAtWallMillis));
          }
          return current;
        });
    return state[0];
  }

  /** One page of the held locks, by name; the cursor is the last name of the previous page. */
  LockPage list(String prefix, @Nullable String cursor, int limit, long now) {
    List<LockState> page = new ArrayList<>();
    Iterator<String> names =
        entries.keySet().stream()
            .filter(name -> name.startsWith(prefix))
            .filter(name -> cursor == null || name.compareTo(cursor) > 0)
            .sorted()
            .iterator();
    while (page.size() < limit && names.hasNext()) {
      LockState state = inspect(names.next(), now);
      if (state.isHeld()) {
        page.add(state);
      }
    }
    return new LockPage(page, names.hasNext() ? page.get(page.size() - 1).name() : null);
  }

  boolean forceRelease(String name, long now) {
    Place[] holder = new Place[1];
    entries.compute(
        name,
        (n, entry) -> {
          Entry current = settled(entry, now);
          if (current == null) {
            return null;
          }
          holder[0] = current.holder;
          return moveOn(current, now);
        });
    if (holder[0] == null) {
      return false;
    }
    holder[0].lossListener.lost(holder[0].claim, LossReason.TAKEN, "its release was forced");
    return true;
  }

  boolean revoke(String name, long now) {
    boolean[] held = new boolean[1];
    entries.compute(
        name,
        (n, entry) -> {
          Entry current = settled(entry, now);
          if (current != null) {
            current.revoked = true;
            held[0] = true;
          }
          return current;
        });
    return held[0];
  }

  void wakeAll() {
    for (String name : entries.keySet()) {
      entries.computeIfPresent(
          name,
          (n, entry) -> {
            entry.line.values().forEach(Place::signal);
            return entry;
          });
    }
  }

  /**
   * The next request for a name notices that its TTL is over. For names without a next request,
   * this looks through all entries whenever there are twice as many as were left the last time.
   */
  private void forgetExpired(long now) {
    if (entries.size() > sweepAbove) {
      for (String name : entries.keySet()) {
        entries.computeIfPresent(name, (n, entry) -> settled(entry, now));
      }
      sweepAbove = Math.max(FEWEST_TO_SWEEP, 2 * entries.size());
    }
  }

  int size() {
    return entries.size();
  }

  private static boolean holds(Entry entry, Claim claim) {
    return entry.holder != null && entry.holder.claim.id().equals(claim.id());
  }

  /** {@return the entry at the given time, null if the lock is free and has no waiters} */
  private static @Nullable Entry settled(@Nullable Entry entry, long now) {
    Entry current = entry;
    while (current != null && current.expiresAt - now <= 0) {
      current = moveOn(current, now);
    }
    return current;
  }

  /** Ends the current hold, and grants the lock to the next waiter if there is one. */
  private static @Nullable Entry moveOn(Entry entry, long now) {
    if (entry.line.isEmpty()) {
      return null;
    }
    Iterator<Place> line = entry.line.values().iterator();
    Place next = line.next();
    line.remove();
    grant(entry, next, now);
    next.signal();
    return entry;
  }

  private static void grant(Entry entry, Place place, long now) {
    entry.holder = place;
    entry.expiresAt = now + place.claim.ttl().toNanos();
    entry.revoked = false;
    place.token = TOKENS.incrementAndGet();
    place.grantedAt = now;
    place.grantedAtWallMillis = place.time.wallMillis();
    place.granted = true; // last: a thread that reads it sees the other fields
  }
}
