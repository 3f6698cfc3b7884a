package dev.interlock.memory;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.Share;
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
 * The locks of one {@code memory:} name: for each lock the holders and a queue of waiters. Nothing
 * happens at the moment of expiry, but every later request finds the hold ended.
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
    private boolean revoked;
    private long expiresAt;
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

  /** Who holds a name, and who waits for it. */
  private static final class Entry {

    /** In the order of their grants; most names never have a second one. */
    private final List<Place> holders = new ArrayList<>(1);

    private Map<String, Place> line = Map.of();

    /**
     * Checks that a claim uses the name as its holders do.
     *
     * @throws dev.interlock.LockConfigurationException if not
     */
    void ensureAgreement(Claim claim) {
      Share present = holders.get(0).claim.share();
      if (!claim.share().agreesWith(present)) {
        throw claim.share().disagreement(claim.name(), present);
      }
    }

    /** Whether nobody waits, and there is room beside the holders. */
    boolean admits(Claim claim) {
      return line.isEmpty() && hasRoomFor(claim);
    }

    private boolean hasRoomFor(Claim claim) {
      long weight = claim.share().weight();
      for (int i = 0; i < holders.size(); i++) {
        weight += holders.get(i).claim.share().weight();
      }
      return weight <= claim.share().capacity();
    }

    void grant(Place place, long now) {
      holders.add(place);
      place.expiresAt = now + place.claim.ttl().toNanos();
      place.token = TOKENS.incrementAndGet();
      place.grantedAt = now;
      place.grantedAtWallMillis = place.time.wallMillis();
      place.granted = true; // last: a thread that reads it sees the other fields
    }

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

    @Nullable Place holder(Claim claim) {
      for (int i = 0; i < holders.size(); i++) {
        if (holders.get(i).claim.id().equals(claim.id())) {
          return holders.get(i);
        }
      }
      return null;
    }

    /** Ends the holds whose TTL is over. */
    void expire(long now) {
      for (int i = holders.size() - 1; i >= 0; i--) {
        if (holders.get(i).expiresAt - now <= 0) {
          holders.remove(i);
        }
      }
    }

    /** Serves the first waiters, as far as there is room; nobody overtakes one that needs more. */
    void serve(long now) {
      if (line.isEmpty()) {
        return;
      }
      Iterator<Place> waiters = line.values().iterator();
      while (waiters.hasNext()) {
        Place next = waiters.next();
        if (!hasRoomFor(next.claim)) {
          return;
        }
        waiters.remove();
        grant(next, now);
        next.signal();
      }
    }

    /** When the first of the holds ends. */
    long firstEnd() {
      long first = holders.get(0).expiresAt;
      for (Place holder : holders) {
        if (holder.expiresAt - first < 0) {
          first = holder.expiresAt;
        }
      }
      return first;
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

  /** Grants the lock if there is room and nobody waits. */
  Place tryAcquire(Place place, long now) {
    return enter(place, now, false);
  }

  /** Grants the lock if there is room and nobody waits; enters the queue otherwise. */
  void join(Place place, long now) {
    enter(place, now, true);
  }

  @CanIgnoreReturnValue
  private Place enter(Place place, long now, boolean waits) {
    forgetExpired();
    entries.compute(
        place.claim.name(),
        (name, entry) -> {
          Entry current = settled(entry, now);
          if (current == null) {
            current = new Entry();
          } else {
            current.ensureAgreement(place.claim);
          }
          if (current.admits(place.claim)) {
            current.grant(place, now);
          } else if (waits) {
            current.join(place);
          }
          return current;
        });
    return place;
  }

  /** Serves the next waiters if TTLs are over; returns when the next TTL ends. */
  long settle(String name, long now) {
    long[] end = {now};
    entries.compute(
        name,
        (n, entry) -> {
          Entry current = settled(entry, now);
          if (current != null) {
            end[0] = current.firstEnd();
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
          Place holder = current == null ? null : current.holder(claim);
          if (holder != null && !holder.revoked) {
            // Readers that share a claim may renew it at the same time, and not in order.
            long renewedAt = holder.expiresAt - holder.claim.ttl().toNanos();
            if (now - renewedAt > 0) {
              holder.expiresAt = now + claim.ttl().toNanos();
            }
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
          Place holder = current.holder(claim);
          if (holder != null) {
            held[0] = true;
            current.holders.remove(holder);
          }
          // Even a waiter may have kept others from being served.
          return settled(current, now);
        });
    return held[0];
  }

  LockState inspect(String name, long now) {
    LockState[] state = {LockState.free(name)};
    entries.compute(
        name,
        (n, entry) -> {
          Entry current = settled(entry, now);
          if (current != null) {
            Share share = current.holders.get(0).claim.share();
            state[0] =
                LockState.held(
                    name,
                    share.kind(),
                    share.capacity(),
                    current.holders.stream().map(holder -> shown(holder, now)).toList(),
                    current.line.values().stream().map(place -> place.claim.holder()).toList());
          }
          return current;
        });
    return state[0];
  }

  private static LockState.Holder shown(Place holder, long now) {
    return new LockState.Holder(
        holder.claim.holder(),
        holder.claim.share().weight(),
        holder.token,
        Duration.ofNanos(holder.expiresAt - now),
        Instant.ofEpochMilli(holder.grantedAtWallMillis));
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
    List<Place> ended = new ArrayList<>();
    entries.compute(
        name,
        (n, entry) -> {
          Entry current = settled(entry, now);
          if (current == null) {
            return null;
          }
          ended.addAll(current.holders);
          current.holders.clear();
          return settled(current, now);
        });
    ended.forEach(
        holder ->
            holder.lossListener.lost(holder.claim, LossReason.TAKEN, "its release was forced"));
    return !ended.isEmpty();
  }

  boolean revoke(String name, long now) {
    boolean[] held = new boolean[1];
    entries.compute(
        name,
        (n, entry) -> {
          Entry current = settled(entry, now);
          if (current != null) {
            current.holders.forEach(holder -> holder.revoked = true);
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
   * this looks through all entries whenever there are twice as many as were left the last time. By
   * the clock of each holder: that of the client that happens to look may be another.
   */
  private void forgetExpired() {
    if (entries.size() > sweepAbove) {
      for (String name : entries.keySet()) {
        entries.computeIfPresent(
            name, (n, entry) -> settled(entry, entry.holders.get(0).time.nanoTime()));
      }
      sweepAbove = Math.max(FEWEST_TO_SWEEP, 2 * entries.size());
    }
  }

  int size() {
    return entries.size();
  }

  /**
   * {@return the entry at the given time, null if the lock is free and has no waiters} An entry
   * that is not null has a holder.
   */
  private static @Nullable Entry settled(@Nullable Entry entry, long now) {
    if (entry == null) {
      return null;
    }
    entry.expire(now);
    entry.serve(now);
    return entry.holders.isEmpty() ? null : entry;
  }
}
