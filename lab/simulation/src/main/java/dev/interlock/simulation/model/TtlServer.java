package dev.interlock.simulation.model;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Share;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A server that keeps locks for a TTL and notifies subscribers of releases: a model of Redis. It
 * has no queue. A waiting claim reserves the name: lighter claims are refused until it is granted
 * or its reservation expires. When its lease ends, lighter claims that were refused come first for
 * a short time. So neither readers nor writers starve.
 */
public class TtlServer extends Server {

  /** The time in which lighter claims come first after a heavier lease, in nanoseconds. */
  public static final long PRIORITY_WINDOW = 200_000_000;

  static final class Entry {
    final String id;
    final String holder;
    final Share share;
    final long token;
    long expiresAt;
    boolean revoked;

    Entry(String id, String holder, Share share, long token, long expiresAt) {
      this.id = id;
      this.holder = holder;
      this.share = share;
      this.token = token;
      this.expiresAt = expiresAt;
    }
  }

  /** The state of a name: its holders in the order of their grants, and the weights that wait. */
  private static final class NameState {
    final Map<String, Entry> holders = new LinkedHashMap<>();

    /** The time until which a claim of each weight counts as waiting. */
    final Map<Integer, Long> waiting = new HashMap<>();

    /** The time until which claims lighter than {@link #heaviestEnded} come first. */
    long lighterFirstUntil;

    /** The weight of the last heavy lease that ended; zero if there is none. */
    int heaviestEnded;

    boolean isLighterFirst(long now) {
      return heaviestEnded > 0 && lighterFirstUntil - now > 0;
    }

    boolean isWaiting(long now, boolean lighter, int than) {
      return waiting.entrySet().stream()
          .anyMatch(
              reservation ->
                  reservation.getValue() - now > 0
                      && (lighter ? reservation.getKey() < than : reservation.getKey() > than));
    }
  }

  /** The answer to an attempt: the token, or how long the lock will still be taken. */
  record Answer(boolean granted, long token, long busyFor, TtlServer server) {}

  private final Map<String, NameState> names = new HashMap<>();
  private final Map<String, Long> counters = new HashMap<>();
  private final Map<String, Set<Subscriber>> subscribers = new HashMap<>();

  /** A connection that is notified of releases. */
  record Subscriber(Connection connection, Runnable signal) {}

  public TtlServer(Scheduler scheduler, String name) {
    super(scheduler, name);
  }

  @Override
  void forgetEverything() {
    names.clear();
  }

  @Override
  void onStart() {
    subscribers.clear();
  }

  void requireWilling() {
    if (isRefusing()) {
      throw new LockConfigurationException("model: NOPERM no permission to do that");
    }
  }

  @Override
  public long keptUntil(String name, long token) {
    return holdersOf(name).stream()
        .filter(entry -> entry.token == token)
        .mapToLong(entry -> entry.expiresAt)
        .findFirst()
        .orElse(0);
  }

  /** {@return the holders of a name, in the order of their grants} */
  Collection<Entry> holdersOf(String name) {
    NameState state = names.get(name);
    if (state == null) {
      return List.of();
    }
    for (Entry entry : List.copyOf(state.holders.values())) {
      if (entry.expiresAt - scheduler.now() <= 0) {
        state.holders.remove(entry.id);
        recordEnd(state, entry, entry.expiresAt);
      }
    }
    return List.copyOf(state.holders.values());
  }

  private static void recordEnd(NameState state, Entry entry, long at) {
    int weight = entry.share.weight();
    if (state.isWaiting(at, true, weight)) {
      state.lighterFirstUntil = at + PRIORITY_WINDOW;
      state.heaviestEnded = weight;
    }
  }

  Answer acquire(Claim claim) {
    requireWilling();
    long now = scheduler.now();
    Collection<Entry> holders = holdersOf(claim.name());
    for (Entry entry : holders) {
      if (entry.id.equals(claim.id())) {
        return new Answer(true, entry.token, 0, this);
      }
      if (!entry.share.agreesWith(claim.share())) {
        throw claim.share().disagreement(claim.name(), entry.share);
      }
    }
    NameState state = state(claim.name());
    int weight = claim.share().weight();
    long busyFor = 0;
    if (!hasRoom(claim, holders)) {
      busyFor = holders.stream().mapToLong(entry -> entry.expiresAt - now).min().orElse(1);
    } else if (state.isLighterFirst(now)
        && weight >= state.heaviestEnded
        && state.isWaiting(now, true, weight)) {
      busyFor = state.lighterFirstUntil - now;
    } else if (!state.isLighterFirst(now) && state.isWaiting(now, false, weight)) {
      busyFor =
          state.waiting.entrySet().stream()
              .filter(reservation -> reservation.getKey() > weight)
              .mapToLong(reservation -> reservation.getValue() - now)
              .max()
              .orElse(1);
    }
    if (busyFor > 0) {
      if (!claim.reservation().isZero()) {
        state.waiting.merge(weight, now + claim.reservation().toNanos(), Math::max);
      }
      return new Answer(false, 0, busyFor, this);
    }
    state.waiting.remove(weight);
    long token = counters.merge(claim.name(), 1L, Long::sum);
    long end = now + claim.ttl().toNanos();
    state.holders.put(claim.id(), new Entry(claim.id(), claim.label(), claim.share(), token, end));
    return new Answer(true, token, 0, this);
  }

  private NameState state(String name) {
    return names.computeIfAbsent(name, key -> new NameState());
  }

  /** {@return whether a claim fits into the capacity beside the holders} */
  boolean hasRoom(Claim claim, Collection<Entry> holders) {
    long heldWeight = holders.stream().mapToLong(entry -> entry.share.weight()).sum();
    return heldWeight + claim.share().weight() <= claim.share().capacity();
  }

  /** Raises the counter, so that the next grant gets a higher token. */
  boolean raise(String name, long token) {
    requireWilling();
    counters.merge(name, token, Math::max);
    return true;
  }

  /** Renews a claim, and returns the reason if that is impossible; empty if it was renewed. */
  String renew(String name, String id, long ttl) {
    Entry entry = entryOf(name, id);
    if (entry == null) {
      return "it is gone";
    }
    if (entry.revoked) {
      return "it was revoked";
    }
    entry.expiresAt = scheduler.now() + ttl;
    return "";
  }

  boolean release(String name, String id) {
    Entry entry = entryOf(name, id);
    if (entry != null) {
      remove(name, List.of(entry));
    }
    return entry != null;
  }

  /** Replaces an entry by one without a claim, which is kept for the delay. */
  boolean releaseAfter(Claim claim, long delay) {
    Entry entry = entryOf(claim.name(), claim.id());
    if (entry == null || entry.revoked) {
      return false;
    }
    Entry deferred =
        new Entry(
            claim.deferredId(), entry.holder, entry.share, entry.token, scheduler.now() + delay);
    Map<String, Entry> holders = state(claim.name()).holders;
    holders.remove(entry.id);
    holders.put(deferred.id, deferred);
    signal(claim.name());
    return true;
  }

  /** Withdraws a minority vote, which cannot have granted the lock. */
  boolean withdraw(String name, String id) {
    Entry entry = entryOf(name, id);
    return entry != null && state(name).holders.remove(id) != null;
  }

  @Nullable Entry entryOf(String name, String id) {
    requireWilling();
    return holdersOf(name).stream().filter(entry -> entry.id.equals(id)).findFirst().orElse(null);
  }

  boolean force(String name) {
    requireWilling();
    Collection<Entry> holders = holdersOf(name);
    remove(name, holders);
    return !holders.isEmpty();
  }

  boolean revoke(String name) {
    requireWilling();
    Collection<Entry> holders = holdersOf(name);
    holders.forEach(entry -> entry.revoked = true);
    return !holders.isEmpty();
  }

  LockState inspect(String name) {
    requireWilling();
    List<LockState.Holder> holders = new ArrayList<>();
    Share share = Share.EXCLUSIVE;
    for (Entry entry : holdersOf(name)) {
      share = entry.share;
      holders.add(
          LockStates.holder(share.kind(), share.weight(), entry.holder, entry.token, null, null));
    }
    return holders.isEmpty()
        ? LockStates.free(name)
        : LockStates.held(name, share.kind(), share.capacity(), holders, List.of());
  }

  private void remove(String name, Collection<Entry> removed) {
    if (removed.isEmpty()) {
      return;
    }
    NameState state = state(name);
    for (Entry entry : removed) {
      state.holders.remove(entry.id);
      recordEnd(state, entry, scheduler.now());
    }
    signal(name);
  }

  private void signal(String name) {
    for (Subscriber subscriber : List.copyOf(subscribers.getOrDefault(name, Set.of()))) {
      subscriber.connection.push(subscriber.signal);
    }
  }

  boolean subscribe(String name, Subscriber subscriber) {
    subscribers
        .computeIfAbsent(name, key -> new LinkedHashSet<>())
        .removeIf(s -> !s.connection.isOpen());
    subscribers.get(name).add(subscriber);
    return true;
  }

  boolean unsubscribe(String name, Connection connection) {
    Set<Subscriber> ofName = subscribers.get(name);
    if (ofName != null) {
      ofName.removeIf(subscriber -> subscriber.connection == connection);
    }
    return true;
  }

  @Override
  public List<String> locks() {
    return names.keySet().stream()
        .flatMap(name -> holdersOf(name).stream().map(entry -> name + " by " + entry.id))
        .toList();
  }
}
