package dev.interlock.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.LockStates;
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
 * The locks of one {@code memory:} name: for each lock the holders and a queue of waiters. The
 * store does nothing at the moment of expiry; the next request for the name ends the hold.
 */
final class MemoryStore {

  /** A claim that is in the queue, or holds the lock. Guarded by the monitor of its entry. */
  abstract static class Place {
    private final Claim claim;

    /** Created when the place enters the queue, which most places never do. */
    private volatile @Nullable WakeUp wakeUp;

    private volatile boolean granted;
    private boolean revoked;
    private boolean deferred;
    private long expiresAt;
    private long token;
    private long grantedAtWallMillis;

    Place(Claim claim) {
      this.claim = claim;
    }

    /** {@return the clocks of the claim's client} */
    abstract TimeSource time();

    /** Called when the lock is taken away from the holder. */
    abstract void reportLoss(LossReason reason, String detail);

    final Claim claim() {
      return claim;
    }

    /** {@return the signal of the grant; null if the lock was granted at once} */
    final @Nullable WakeUp wakeUp() {
      return wakeUp;
    }

    final void signal() {
      WakeUp waiting = wakeUp;
      if (waiting != null) {
        waiting.signal();
      }
    }

    final boolean isGranted() {
      return granted;
    }

    /** {@return the fencing token, once the lock is granted} */
    final long token() {
      return token;
    }

    /** {@return when the TTL ends, once the lock is granted} */
    final long expiresAt() {
      return expiresAt;
    }
  }

  /** The holders and the queue of a name. Guarded by its monitor. */
  private static final class Entry {
    /** The holders, in the order of their grants. Most names never have a second holder. */
    private final List<Place> holders = new ArrayList<>(1);

    private Map<String, Place> queue = Map.of();

    /** Whether this entry is no longer in the table. It is free then. */
    private boolean removed;

    /** Whether nobody holds the name. After {@link #settle}, nobody waits for a free name. */
    boolean isFree() {
      return holders.isEmpty();
    }

    /** Ends expired holds, and serves waiters. */
    void settle(long now) {
      expire(now);
      serve(now);
    }

    /**
     * Checks that a claim uses the name as its holders do.
     *
     * @throws dev.interlock.LockConfigurationException if not
     */
    void ensureAgreement(Claim claim) {
      if (isFree()) {
        return;
      }
      Share current = holders.get(0).claim.share();
      if (!claim.share().agreesWith(current)) {
        throw claim.share().disagreement(claim.name(), current);
      }
    }

    boolean admits(Claim claim) {
      return queue.isEmpty() && hasRoomFor(claim);
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
      place.grantedAtWallMillis = place.time().wallMillis();
      place.granted = true; // last: a thread that reads it sees the other fields
    }

    void join(Place place) {
      if (queue.isEmpty()) {
        queue = new LinkedHashMap<>();
      }
      place.wakeUp = new WakeUp(place.time());
      queue.put(place.claim.id(), place);
    }

    void leave(Claim claim) {
      if (!queue.isEmpty()) {
        queue.remove(claim.id());
      }
    }

    /** {@return the place of the claim if it holds the name and has not deferred its release} */
    @Nullable Place holder(Claim claim) {
      for (int i = 0; i < holders.size(); i++) {
        if (holders.get(i).claim.isSame(claim) && !holders.get(i).deferred) {
          return holders.get(i);
        }
      }
      return null;
    }

    void expire(long now) {
      for (int i = holders.size() - 1; i >= 0; i--) {
        if (holders.get(i).expiresAt - now <= 0) {
          holders.remove(i);
        }
      }
    }

    /** Serves waiters in order, until there is no room for the next. */
    void serve(long now) {
      if (queue.isEmpty()) {
        return;
      }
      Iterator<Place> waiters = queue.values().iterator();
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

    /** {@return the time at which the first hold expires} There must be a holder. */
    long firstExpiry() {
      long first = holders.get(0).expiresAt;
      for (Place holder : holders) {
        if (holder.expiresAt - first < 0) {
          first = holder.expiresAt;
        }
      }
      return first;
    }
  }

  /** Up to this number of entries, free ones are kept for the next claims. */
  private static final int MAX_KEPT_ENTRIES = 64;

  // One for the JVM, so that tokens keep rising when a store is closed and opened again.
  private static final AtomicLong TOKENS = new AtomicLong();

  @GuardedBy("STORES")
  private static final Map<String, MemoryStore> STORES = new HashMap<>();

  private final String storeName;
  private final ConcurrentHashMap<String, Entry> entries = new ConcurrentHashMap<>();

  @GuardedBy("STORES")
  private int clients;

  /** With more entries than this, a new claim looks for expired ones. */
  private volatile int sweepAbove = MAX_KEPT_ENTRIES;

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
  void tryAcquire(Place place, long now) {
    enter(place, now, false);
  }

  /** Grants the lock if there is room and nobody waits; enters the queue otherwise. */
  void join(Place place, long now) {
    enter(place, now, true);
  }

  private void enter(Place place, long now, boolean waits) {
    forgetExpired();
    Claim claim = place.claim;
    while (true) {
      Entry entry = entries.get(claim.name());
      if (entry == null) {
        entry = new Entry();
        Entry other = entries.putIfAbsent(claim.name(), entry);
        entry = other == null ? entry : other;
      }
      synchronized (entry) {
        if (entry.removed) {
          // It is still in the table only if an error interrupted its removal.
          entries.remove(claim.name(), entry);
          continue;
        }
        entry.settle(now);
        entry.ensureAgreement(claim);
        if (entry.admits(claim)) {
          entry.grant(place, now);
        } else if (waits) {
          entry.join(place);
        }
        return;
      }
    }
  }

  /** {@return the entry of a name, or a new, free one outside the table} */
  private Entry entry(String name) {
    Entry entry = entries.get(name);
    return entry == null ? new Entry() : entry;
  }

  /** Ends expired holds and serves waiters; returns the time at which the next hold expires. */
  long settle(String name, long now) {
    Entry entry = entry(name);
    synchronized (entry) {
      entry.settle(now);
      return entry.isFree() ? now : entry.firstExpiry();
    }
  }

  boolean renew(Claim claim, long now) {
    Entry entry = entry(claim.name());
    synchronized (entry) {
      entry.settle(now);
      Place holder = entry.holder(claim);
      if (holder == null || holder.revoked) {
        return false;
      }
      // Readers that share a claim may renew it at the same time, in any order.
      long renewedAt = holder.expiresAt - holder.claim.ttl().toNanos();
      if (now - renewedAt > 0) {
        holder.expiresAt = now + claim.ttl().toNanos();
      }
      return true;
    }
  }

  boolean release(Claim claim, long now) {
    Entry entry = entry(claim.name());
    synchronized (entry) {
      entry.settle(now);
      entry.leave(claim);
      Place holder = entry.holder(claim);
      if (holder != null) {
        entry.holders.remove(holder);
      }
      // The claim may have been a waiter that others had to wait behind.
      entry.serve(now);
      forgetIfFree(claim.name(), entry);
      return holder != null;
    }
  }

  boolean releaseAfter(Claim claim, Duration delay, long now) {
    Entry entry = entry(claim.name());
    synchronized (entry) {
      entry.settle(now);
      Place holder = entry.holder(claim);
      if (holder == null || holder.revoked) {
        return false;
      }
      holder.deferred = true;
      holder.expiresAt = now + delay.toNanos();
      // The waiters wait for the end of the previous TTL.
      entry.queue.values().forEach(Place::signal);
      return true;
    }
  }

  LockState inspect(String name, long now) {
    Entry entry = entry(name);
    synchronized (entry) {
      entry.settle(now);
      if (entry.isFree()) {
        return LockStates.free(name);
      }
      Share share = entry.holders.get(0).claim.share();
      return LockStates.held(
          name,
          share.kind(),
          share.capacity(),
          entry.holders.stream().map(holder -> shown(holder, now)).toList(),
          entry.queue.values().stream().map(place -> place.claim.label()).toList());
    }
  }

  private static LockState.Holder shown(Place holder, long now) {
    return LockStates.holder(
        holder.claim.share().kind(),
        holder.claim.share().weight(),
        holder.claim.label(),
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
    Entry entry = entry(name);
    List<Place> ended;
    synchronized (entry) {
      entry.settle(now);
      ended = List.copyOf(entry.holders);
      entry.holders.clear();
      entry.serve(now);
      forgetIfFree(name, entry);
    }
    ended.forEach(holder -> holder.reportLoss(LossReason.TAKEN, "its release was forced"));
    return !ended.isEmpty();
  }

  boolean revoke(String name, long now) {
    Entry entry = entry(name);
    synchronized (entry) {
      entry.settle(now);
      entry.holders.forEach(holder -> holder.revoked = true);
      return !entry.isFree();
    }
  }

  void wakeAll() {
    for (Entry entry : entries.values()) {
      synchronized (entry) {
        entry.queue.values().forEach(Place::signal);
      }
    }
  }

  /**
   * Removes the expired entries of names that nobody requests again. Runs whenever there are twice
   * as many entries as the last run left. It uses each holder's clock, because clients may have
   * different clocks.
   */
  private void forgetExpired() {
    if (entries.size() > sweepAbove) {
      entries.forEach(
          (name, entry) -> {
            synchronized (entry) {
              if (!entry.isFree()) {
                entry.settle(entry.holders.get(0).time().nanoTime());
              }
              if (entry.isFree()) {
                forget(name, entry);
              }
            }
          });
      sweepAbove = Math.max(MAX_KEPT_ENTRIES, 2 * entries.size());
    }
  }

  private void forgetIfFree(String name, Entry entry) {
    if (entry.isFree() && entries.size() > MAX_KEPT_ENTRIES) {
      forget(name, entry);
    }
  }

  /** The caller holds the entry's monitor. */
  private void forget(String name, Entry entry) {
    entry.removed = true;
    entries.remove(name, entry);
  }

  int size() {
    return entries.size();
  }
}
