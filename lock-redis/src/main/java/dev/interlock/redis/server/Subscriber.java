package dev.interlock.redis.server;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.WakeUp;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisAccessControlException;

/**
 * Listens to releases for all waiters of a client. Its one connection exists while there are
 * waiters, and a few seconds longer.
 *
 * <p>The waiters' threads do not use that connection: it could be slow, and the interrupt of a
 * virtual thread would break it for all. One thread listens as long as the connection lasts.
 * Another thread connects, subscribes, unsubscribes, and checks that the connection is alive; it
 * ends when it has nothing to do. Both are daemons.
 *
 * <p>Signals are hints. Waiters may have missed one when the server confirms their subscription, or
 * when the connection breaks. So they are signalled then, too, and they also poll.
 */
public final class Subscriber implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Subscriber.class);

  private static final long MIN_PAUSE_MILLIS = 50;
  private static final long MAX_PAUSE_MILLIS = 1_000;

  /** The time for which a release reserves the lock for the next in line, unless it is slow. */
  private static final long RESERVATION_MILLIS = 300;

  /**
   * The poll interval of a waiter that is not notified of releases. It is shorter than a
   * reservation, so that the waiter finds the lock while it is reserved for it.
   */
  public static final long UNSUBSCRIBED_POLL_MILLIS = 100;

  private static final long FORBIDDEN_PAUSE_MILLIS = 60_000;

  /** The interval of the checks that the connection is alive and still needed. */
  public static final int PROBE_MILLIS = 5_000;

  /** Identifies this client in the lines of waiters that servers keep. */
  private final String id = newId();

  private final Supplier<Connection> connections;
  private final String idleChannel;
  private final Failures failures;
  private final int probeMillis;
  private final ScheduledThreadPoolExecutor chores;
  private final ThreadFactory listeners = DaemonThreads.factory("interlock-redis-listener");
  private final ReentrantLock lock = new ReentrantLock();
  private final MessageListener listener = new MessageListener();

  // The lock guards all following fields.

  /**
   * The waiters by channel. It is changed under the lock, but also read without it. {@code isEmpty}
   * is exact even so, because only one thread at a time changes the map.
   */
  private final Map<String, Set<Waiter>> waiters = new ConcurrentHashMap<>();

  /** The last reservation for another client, by channel. Compared by identity. */
  private final Map<String, Object> latestReservations = new HashMap<>();

  /** The channels whose messages are received. Also read without the lock. */
  private final Set<String> confirmed = ConcurrentHashMap.newKeySet();

  private @Nullable Subscription subscription;
  private boolean updateIsDue;
  private boolean connectIsDue;
  private boolean isRefusalLogged;
  private int consecutiveFailures;
  private int idleProbes;
  private boolean closed;

  /** Receives messages, on the thread that listens. */
  private final class MessageListener implements Subscription.Listener {
    @Override
    public void ready(Subscription from) {
      locked(
          () -> {
            if (subscription == from) {
              consecutiveFailures = 0;
              updateSoon();
            }
          });
    }

    @Override
    public void confirmed(Subscription from, String channel) {
      locked(
          () -> {
            if (subscription == from) {
              // Even without a waiter: the next one may come before we have unsubscribed.
              confirmed.add(channel);
              signal(waiters.get(channel));
            }
          });
    }

    @Override
    public void published(Subscription from, String channel, String waiter) {
      if (waiter.isEmpty() || waiter.equals(id)) {
        locked(() -> signal(waiters.get(channel)));
      } else if (waiters.containsKey(channel)) {
        locked(() -> signalAfterReservation(channel));
      }
    }
  }

  private final class Waiter implements Watch {
    final String channel;
    final WakeUp wakeUp;

    Waiter(String channel, WakeUp wakeUp) {
      this.channel = channel;
      this.wakeUp = wakeUp;
    }

    @Override
    public void close() {
      remove(this);
    }
  }

  /**
   * Creates a subscriber that is not connected yet.
   *
   * @param connections makes a connection outside of any pool; blocks while it connects
   * @param namespace the namespace of all locks, in which one more channel stays subscribed
   * @param failures explains failures
   * @param probeMillis the interval of the checks; {@link #PROBE_MILLIS} except in tests
   */
  public Subscriber(
      Supplier<Connection> connections, String namespace, Failures failures, int probeMillis) {
    this.connections = connections;
    this.idleChannel = namespace + ":waiting";
    this.failures = failures;
    this.probeMillis = probeMillis;
    this.chores = DaemonThreads.one("interlock-redis-subscriber", Duration.ofMillis(probeMillis));
  }

  /**
   * Signals every published release of the lock until the watch is closed. Releases are published
   * only for locks that {@linkplain #isWatching are watched}. Does not block on the store.
   *
   * @param keys the keys of the lock
   * @param wakeUp the object to signal
   * @return the watch
   */
  public Watch watch(LockKeys keys, WakeUp wakeUp) {
    Waiter waiter = new Waiter(keys.channel(), wakeUp);
    locked(
        () -> {
          Set<Waiter> others = waiters.computeIfAbsent(waiter.channel, c -> new HashSet<>());
          if (others.isEmpty()) {
            updateSoon();
          }
          others.add(waiter);
          if (confirmed.contains(waiter.channel)) {
            // A message may have been missed until now; none is missed from now on.
            wakeUp.signal();
          }
        });
    return waiter;
  }

  private static String newId() {
    byte[] bytes = new byte[9];
    new SecureRandom().nextBytes(bytes);
    return Base64.getUrlEncoder().encodeToString(bytes);
  }

  /** {@return the id of this client in the lines of waiters that servers keep} */
  public String id() {
    return id;
  }

  /**
   * {@return whether there is a watch on the lock} A release is published only if an attempt has
   * asked for it. So when the subscription is confirmed, the waiters are signalled to try once
   * more. Does not block.
   *
   * @param keys the keys of the lock
   */
  public boolean isWatching(LockKeys keys) {
    return !waiters.isEmpty() && waiters.containsKey(keys.channel());
  }

  /**
   * {@return whether this client is notified of releases of the lock} It is from the moment when
   * the server confirms the subscription. Does not block.
   *
   * @param keys the keys of the lock
   */
  public boolean isSubscribed(LockKeys keys) {
    return confirmed.contains(keys.channel());
  }

  private void remove(Waiter waiter) {
    locked(
        () -> {
          Set<Waiter> others = waiters.get(waiter.channel);
          if (others != null && others.remove(waiter) && others.isEmpty()) {
            waiters.remove(waiter.channel);
            latestReservations.remove(waiter.channel);
            updateSoon();
          }
        });
  }

  /**
   * Signals the waiters after the reservation for another client has ended, unless another message
   * comes first. That client may be gone, and no message reports the end of its reservation.
   */
  private void signalAfterReservation(String channel) {
    Object reservation = new Object();
    latestReservations.put(channel, reservation);
    long pause = RESERVATION_MILLIS + ThreadLocalRandom.current().nextLong(RESERVATION_MILLIS / 3);
    later(
        pause,
        () ->
            locked(
                () -> {
                  if (latestReservations.remove(channel, reservation)) {
                    signal(waiters.get(channel));
                  }
                }));
  }

  private void locked(Runnable action) {
    lock.lock();
    try {
      action.run();
    } finally {
      lock.unlock();
    }
  }

  private void later(long millis, Runnable chore) {
    var unused =
        chores.schedule(
            () -> {
              try {
                chore.run();
              } catch (RuntimeException e) {
                log.error(
                    "the listener to releases failed, because of a bug; waiters poll instead", e);
              }
            },
            millis,
            TimeUnit.MILLISECONDS);
  }

  private void updateSoon() {
    if (!updateIsDue && !closed) {
      later(0, this::update);
      updateIsDue = true;
    }
  }

  /** Subscribes to the channels of all waiters, and to no others. */
  private void update() {
    Subscription current;
    List<String> wanted;
    lock.lock();
    try {
      updateIsDue = false;
      current = subscription;
      if (current == null) {
        if (!waiters.isEmpty()) {
          connectAfter(0);
        }
        return;
      }
      if (!current.isReady()) {
        return;
      }
      wanted = new ArrayList<>(waiters.keySet());
      // After unsubscribing, messages come only when the server has confirmed the channel again.
      confirmed.retainAll(waiters.keySet());
    } finally {
      lock.unlock();
    }
    try {
      current.update(wanted);
    } catch (RuntimeException | Error e) {
      current.close();
    }
  }

  private void connectAfter(long millis) {
    if (!connectIsDue && !closed) {
      later(millis, this::connect);
      connectIsDue = true;
    }
  }

  private void connect() {
    lock.lock();
    try {
      if (closed || waiters.isEmpty()) {
        connectIsDue = false;
        return;
      }
    } finally {
      lock.unlock();
    }
    Subscription next;
    try {
      // Longer than two probes, so that two have gone unanswered.
      next = new Subscription(connections.get(), idleChannel, probeMillis * 5 / 2, listener);
    } catch (RuntimeException | Error e) {
      locked(
          () -> {
            connectIsDue = false;
            reconnectAfter(e);
          });
      return;
    }
    lock.lock();
    try {
      connectIsDue = false;
      if (closed) {
        next.close();
        return;
      }
      listeners.newThread(() -> listen(next)).start();
      subscription = next;
      idleProbes = 0;
      later(probeMillis, () -> probe(next));
    } catch (Error e) {
      next.close();
      reconnectAfter(e);
    } finally {
      lock.unlock();
    }
  }

  private void listen(Subscription listening) {
    Throwable problem = null;
    try {
      listening.listen();
    } catch (RuntimeException | Error e) {
      problem = e;
    }
    lock.lock();
    try {
      if (subscription != listening) {
        return;
      }
      subscription = null;
      confirmed.clear();
      waiters.values().forEach(Subscriber::signal);
      reconnectAfter(problem);
    } finally {
      lock.unlock();
    }
  }

  private void reconnectAfter(@Nullable Throwable problem) {
    if (closed) {
      return;
    }
    long pause = Math.min(MAX_PAUSE_MILLIS, MIN_PAUSE_MILLIS << Math.min(consecutiveFailures, 10));
    consecutiveFailures++;
    if (problem instanceof JedisAccessControlException refusal
        && failures.explain(refusal) instanceof LockConfigurationException forbidden) {
      pause = FORBIDDEN_PAUSE_MILLIS;
      if (!isRefusalLogged) {
        isRefusalLogged = true;
        DaemonThreads.runApart(
            "interlock-redis-log",
            () ->
                log.warn(
                    "{}; waiters are not notified of releases, and poll instead",
                    forbidden.getMessage()));
      }
    } else if (problem != null) {
      log.debug("the connection that listens to releases broke; connecting again", problem);
    }
    if (!waiters.isEmpty()) {
      connectAfter(pause);
    }
  }

  /** Checks that the connection is alive. Closes it if there have been no waiters for a while. */
  private void probe(Subscription current) {
    lock.lock();
    try {
      if (subscription != current || closed) {
        return;
      }
      idleProbes = waiters.isEmpty() ? idleProbes + 1 : 0;
      if (idleProbes > 1) {
        subscription = null;
        confirmed.clear();
        current.close();
        return;
      }
      later(probeMillis, () -> probe(current));
    } finally {
      lock.unlock();
    }
    if (!current.isReady()) {
      // Jedis would wait without limit for the first reply.
      current.close();
      return;
    }
    try {
      current.probe();
    } catch (RuntimeException | Error e) {
      current.close();
    }
  }

  private static void signal(@Nullable Set<Waiter> some) {
    if (some != null) {
      some.forEach(waiter -> waiter.wakeUp.signal());
    }
  }

  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      if (subscription != null) {
        subscription.close();
        subscription = null;
      }
      waiters.clear();
      confirmed.clear();
    } finally {
      lock.unlock();
    }
    chores.shutdown();
  }
}
