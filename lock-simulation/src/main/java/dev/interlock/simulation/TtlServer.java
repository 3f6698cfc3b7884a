package dev.interlock.simulation;

import dev.interlock.LockConfigurationException;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A server that keeps locks for a TTL, and notifies subscribers of releases: a model of Redis. */
final class TtlServer extends Server {

  static final class Entry {
    final String id;
    final String holder;
    final long token;
    long expiresAt;
    boolean revoked;

    Entry(String id, String holder, long token, long expiresAt) {
      this.id = id;
      this.holder = holder;
      this.token = token;
      this.expiresAt = expiresAt;
    }
  }

  /** The outcome of an attempt: the token, or how long the lock is still taken. */
  record Answer(boolean granted, long token, long busyFor) {}

  private final Map<String, Entry> entries = new HashMap<>();
  private final Map<String, Long> counters = new HashMap<>();
  private final Map<String, Set<Subscriber>> subscribers = new HashMap<>();

  /** Is notified of releases. */
  record Subscriber(Connection connection, Runnable signal) {}

  TtlServer(Scheduler scheduler, String name) {
    super(scheduler, name);
  }

  @Override
  void forgetEverything() {
    entries.clear();
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

  /** Until when an entry is kept if it is not renewed; 0 if there is none. */
  long keptUntil(String name, long token) {
    Entry entry = live(name);
    return entry == null || entry.token != token ? 0 : entry.expiresAt;
  }

  @Nullable Entry live(String name) {
    Entry entry = entries.get(name);
    if (entry != null && entry.expiresAt - scheduler.now() <= 0) {
      entries.remove(name);
      return null;
    }
    return entry;
  }

  Answer acquire(String name, String id, String holder, long ttl) {
    requireWilling();
    Entry entry = live(name);
    if (entry != null) {
      return entry.id.equals(id)
          ? new Answer(true, entry.token, 0)
          : new Answer(false, 0, entry.expiresAt - scheduler.now());
    }
    long token = counters.merge(name, 1L, Long::sum);
    entries.put(name, new Entry(id, holder, token, scheduler.now() + ttl));
    return new Answer(true, token, 0);
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
    boolean held = entryOf(name, id) != null;
    if (held) {
      remove(name);
    }
    return held;
  }

  /** Withdraws a minority vote, which cannot have granted the lock. */
  boolean withdraw(String name, String id) {
    return entryOf(name, id) != null && entries.remove(name) != null;
  }

  private @Nullable Entry entryOf(String name, String id) {
    requireWilling();
    Entry entry = live(name);
    return entry == null || !entry.id.equals(id) ? null : entry;
  }

  boolean force(String name) {
    requireWilling();
    boolean held = live(name) != null;
    if (held) {
      remove(name);
    }
    return held;
  }

  boolean revoke(String name) {
    requireWilling();
    Entry entry = live(name);
    if (entry != null) {
      entry.revoked = true;
    }
    return entry != null;
  }

  private void remove(String name) {
    entries.remove(name);
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

  /** All locks. */
  List<String> held() {
    return List.copyOf(entries.entrySet()).stream()
        .filter(entry -> live(entry.getKey()) != null)
        .map(entry -> entry.getKey() + " by " + entry.getValue().id)
        .toList();
  }
}
