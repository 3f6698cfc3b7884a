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
 * A server that keeps locks for a TTL, and notifies subscribers of releases: a model of Redis. It
 * has no queue. A claim that waits reserves the name: lighter ones are refused until it is granted
 * or its reservation expires. When it ends, lighter ones that were refused have a short time in
 * which they come first. So neither readers nor writers starve.
 */
public class TtlServer extends Server {

  /** For how long lighter claims come first after a heavier one has ended. */
  public static final long WINDOW = 200_000_000;

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

  /** A name: its holders in the order of their grants, and the weights that wait. */
  private static final class Entries {
    final Map<String, Entry> holders = new LinkedHashMap<>();

    /** Until when a claim of this weight counts as waiting. */
    final Map<Integer, Long> waiting = new HashMap<>();

    /** Until when claims lighter than {@link #heaviestEnded} come first. */
    long lighterFirstUntil;

    /** Zero if none has ended yet. */
    int heaviestEnded;

    boolean isLighterFirst(long now) {
      return heaviestEnded > 0 && lighterFirstUntil - now > 0;
    }

    boolean waits(long now, boolean lighter, int than) {
      return waiting.entrySet().stream()
          .anyMatch(
              mark ->
                  mark.getValue() - now > 0
                      && (lighter ? mark.getKey() < than : mark.getKey() > than));
    }
  }

  /** The outcome of an attempt: the token, or how long the lock is still taken. */
  record Answer(boolean granted, long token, long busyFor, TtlServer server) {}

  private final Map<String, Entries> names = new HashMap<>();
  private final Map<String, Long> counters = new HashMap<>();
  private final Map<String, Set<Subscriber>> subscribers = new HashMap<>();

  /** Is notified of releases. */
  record Subscriber(Connection connection, Runnable signal) {}

  public TtlServer(Scheduler scheduler, String name) {
    super(scheduler, name);
  }

  @Override
  void forgetEverything() {
    names.clear();
  }

  @Override
  void started() {
    subscribers.clear();
  }

  void requireWilling() {
    if (isRefusing()) {
      throw new LockConfigurationException("model: NOPERM no permission to do that");
    }
  }

  @Override
  public long keptUntil(String name, long token) {
    return live(name).stream()
        .filter(entry -> entry.token == token)
        .mapToLong(entry -> entry.expiresAt)
        .findFirst()
        .orElse(0);
  }

  /** The holders of a name, in the order of their grants. */
  Collection<Entry> live(String name) {
    Entries entries = names.get(name);
    if (entries == null) {
      return List.of();
    }
    for (Entry entry : List.copyOf(entries.holders.values())) {
      if (entry.expiresAt - scheduler.now() <= 0) {
        entries.holders.remove(entry.id);
        ended(entries, entry, entry.expiresAt);
      }
    }
    return List.copyOf(entries.holders.values());
  }

  private static void ended(Entries entries, Entry entry, long at) {
    int weight = entry.share.weight();
    if (entries.waits(at, true, weight)) {
      entries.lighterFirstUntil = at + WINDOW;
      entries.heaviestEnded = weight;
    }
  }

  Answer acquire(Claim claim) {
    requireWilling();
    long now = scheduler.now();
    Collection<Entry> present = live(claim.name());
    for (Entry entry : present) {
      if (entry.id.equals(claim.id())) {
        return new Answer(true, entry.token, 0, this);
      }
      if (!entry.share.agreesWith(claim.share())) {
        throw claim.share().disagreement(claim.name(), entry.share);
      }
    }
    Entries entries = entries(claim.name());
    int weight = claim.share().weight();
    long busyFor = 0;
    if (!hasRoom(claim, present)) {
      busyFor = present.stream().mapToLong(entry -> entry.expiresAt - now).min().orElse(1);
    } else if (entries.isLighterFirst(now)
        && weight >= entries.heaviestEnded
        && entries.waits(now, true, weight)) {
      busyFor = entries.lighterFirstUntil - now;
    } else if (!entries.isLighterFirst(now) && entries.waits(now, false, weight)) {
      busyFor =
          entries.waiting.entrySet().stream()
              .filter(mark -> mark.getKey() > weight)
              .mapToLong(mark -> mark.getValue() - now)
              .max()
              .orElse(1);
    }
    if (busyFor > 0) {
      if (!claim.reservation().isZero()) {
        entries.waiting.merge(weight, now + claim.reservation().toNanos(), Math::max);
      }
      return new Answer(false, 0, busyFor, this);
    }
    entries.waiting.remove(weight);
    long token = counters.merge(claim.name(), 1L, Long::sum);
    long end = now + claim.ttl().toNanos();
    entries.holders.put(
        claim.id(), new Entry(claim.id(), claim.label(), claim.share(), token, end));
    return new Answer(true, token, 0, this);
  }

  private Entries entries(String name) {
    return names.computeIfAbsent(name, key -> new Entries());
  }

  /** Whether a claim fits in beside the holders. */
  boolean hasRoom(Claim claim, Collection<Entry> present) {
    long held = present.stream().mapToLong(entry -> entry.share.weight()).sum();
    return held + claim.share().weight() <= claim.share().capacity();
  }

  /** Raises the counter, so that the next grant gets a higher token. */
  boolean raise(String name, long token) {
    requireWilling();
    counters.merge(name, token, Math::max);
    return true;
  }

  /** Returns why it was not renewed; empty if it was. */
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

  /** Keeps an entry for another time, without its claim. */
  boolean releaseAfter(Claim claim, long delay) {
    Entry entry = entryOf(claim.name(), claim.id());
    if (entry == null || entry.revoked) {
      return false;
    }
    Entry deferred =
        new Entry(
            claim.deferredId(), entry.holder, entry.share, entry.token, scheduler.now() + delay);
    Map<String, Entry> holders = entries(claim.name()).holders;
    holders.remove(entry.id);
    holders.put(deferred.id, deferred);
    signal(claim.name());
    return true;
  }

  /** Withdraws a minority vote, which cannot have granted the lock. */
  boolean withdraw(String name, String id) {
    Entry entry = entryOf(name, id);
    return entry != null && entries(name).holders.remove(id) != null;
  }

  @Nullable Entry entryOf(String name, String id) {
    requireWilling();
    return live(name).stream().filter(entry -> entry.id.equals(id)).findFirst().orElse(null);
  }

  boolean force(String name) {
    requireWilling();
    Collection<Entry> held = live(name);
    remove(name, held);
    return !held.isEmpty();
  }

  boolean revoke(String name) {
    requireWilling();
    Collection<Entry> held = live(name);
    held.forEach(entry -> entry.revoked = true);
    return !held.isEmpty();
  }

  LockState inspect(String name) {
    requireWilling();
    List<LockState.Holder> holders = new ArrayList<>();
    Share share = Share.EXCLUSIVE;
    for (Entry entry : live(name)) {
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
    Entries entries = entries(name);
    for (Entry entry : removed) {
      entries.holders.remove(entry.id);
      ended(entries, entry, scheduler.now());
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
    Set<Subscriber> those = subscribers.get(name);
    if (those != null) {
      those.removeIf(subscriber -> subscriber.connection == connection);
    }
    return true;
  }

  @Override
  public List<String> held() {
    return names.keySet().stream()
        .flatMap(name -> live(name).stream().map(entry -> name + " by " + entry.id))
        .toList();
  }
}
