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
 * Listens to releases for all waiters of a client, over one connection that exists while there are
 * waiters, and a few seconds longer.
 *
 * <p>The waiters' threads do not use that connection: it could be slow, and the interrupt of a
 * virtual thread would break it for all. One thread listens for as long as the connection lasts.
 * Another one connects, subscribes, unsubscribes and checks that the connection is alive, and ends
 * when there is nothing to do. Both are daemons.
 *
 * <p>Signals are hints. Waiters may have missed one when the server confirms their subscription or
 * when the connection breaks, so they are signalled then, and poll.
 */
public final class Subscriber implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Subscriber.class);

  private static final long FIRST_PAUSE_MILLIS = 50;
  private static final long LONGEST_PAUSE_MILLIS = 1_000;

  /** For how long a release reserves the lock for the next in line, unless that one is slow. */
  private static final long RESERVATION_MILLIS = 300;

  /**
   * How often a waiter polls that does not hear of releases: so often that it finds what is
   * reserved for it.
   */
  public static final long DEAF_POLL_MILLIS = 100;

  private static final long FORBIDDEN_PAUSE_MILLIS = 60_000;

  /** How often to check that the connection is alive and still needed. */
  public static final int POKE_MILLIS = 5_000;

  /** Distinguishes this client in the lines of those who wait. */
  private final String id = newId();

  private final Supplier<Connection> connections;
  private final String restChannel;
  private final Failures failures;
  private final int pokeMillis;
  private final ScheduledThreadPoolExecutor chores;
  private final ThreadFactory listeners = DaemonThreads.factory("interlock-redis-listener");
  private final ReentrantLock lock = new ReentrantLock();
  private final Hearing hearing = new Hearing();

  // The lock guards all that follows.

  /**
   * Its keys are read without the lock, too. So is whether it is empty: a concurrent map counts
   * without errors as long as only one thread at a time changes it, as here under the lock.
   */
  private final Map<String, Set<Waiter>> waiters = new ConcurrentHashMap<>();

  /** For each lock that changes hands, what stands for the last message about it. */
  private final Map<String, Object> turns = new HashMap<>();

  /** Read without the lock, too. */
  private final Set<String> confirmed = ConcurrentHashMap.newKeySet();

  private @Nullable Subscription subscription;
  private boolean updateIsDue;
  private boolean connectIsDue;
  private boolean forbiddenIsSaid;
  private int failuresInRow;
  private int idlePokes;
  private boolean closed;

  /** Receives messages, on the thread that listens. */
  private final class Hearing implements Subscription.Listener {
    @Override
    public void ready(Subscription from) {
      locked(
          () -> {
            if (subscription == from) {
              failuresInRow = 0;
              updateSoon();
            }
          });
    }

    @Override
    public void confirmed(Subscription from, String channel) {
      locked(
          () -> {
            if (subscription == from) {
              // Also without a waiter: the next one may come before we have unsubscribed.
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
        locked(() -> lookAfterTurn(channel));
      }
    }
  }

  /** One waiter on one lock. */
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
   * Makes one that is not connected yet.
   *
   * @param connections makes a connection outside of any pool; blocks while it connects
   * @param namespace the namespace of all locks, in which one more channel stays subscribed
   * @param failures explains what does not work
   * @param pokeMillis how often to check the connection; {@link #POKE_MILLIS} but in tests
   */
  public Subscriber(
      Supplier<Connection> connections, String namespace, Failures failures, int pokeMillis) {
    this.connections = connections;
    this.restChannel = namespace + ":waiting";
    this.failures = failures;
    this.pokeMillis = pokeMillis;
    this.chores = DaemonThreads.one("interlock-redis-subscriber", Duration.ofMillis(pokeMillis));
  }

  /**
   * Signals at every published release of the lock, until closed; see {@link #isWatching}. Does not
   * block on the store.
   *
   * @param keys the lock
   * @param wakeUp to be signalled
   * @return ends it when closed
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
            // From now on nothing is missed; a message before may have been.
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

  /** {@return the id of this client in the lines of those who wait} */
  public String id() {
    return id;
  }

  /**
   * {@return whether there is a watch on the lock} A release is published only if an attempt has
   * said so. So all waiters are signalled to try once more when the subscription is in place. Does
   * not block.
   *
   * @param keys the lock
   */
  public boolean isWatching(LockKeys keys) {
    return !waiters.isEmpty() && waiters.containsKey(keys.channel());
  }

  /**
   * {@return whether releases of the lock are heard of} They are not as long as the server has not
   * confirmed the subscription, and never if it refuses that or cannot be connected to. Does not
   * block.
   *
   * @param keys the lock
   */
  public boolean hears(LockKeys keys) {
    return confirmed.contains(keys.channel());
  }

  private void remove(Waiter waiter) {
    locked(
        () -> {
          Set<Waiter> others = waiters.get(waiter.channel);
          if (others != null && others.remove(waiter) && others.isEmpty()) {
            waiters.remove(waiter.channel);
            turns.remove(waiter.channel);
            updateSoon();
          }
        });
  }

  /**
   * The lock is reserved for another client, which may be gone, and nobody says when the
   * reservation ends. The next message shows that the lock changes hands.
   */
  private void lookAfterTurn(String channel) {
    Object turn = new Object();
    turns.put(channel, turn);
    long pause = RESERVATION_MILLIS + ThreadLocalRandom.current().nextLong(RESERVATION_MILLIS / 3);
    later(
        pause,
        () ->
            locked(
                () -> {
                  if (turns.remove(channel, turn)) {
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
                log.error("waiters are no longer notified of releases, because of a bug; they poll instead", e);
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
      // A channel that is unsubscribed has to be confirmed again before its messages come.
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
    Subscription made;
    try {
      // Longer than two pokes: both have gone unanswered then.
      made = new Subscription(connections.get(), restChannel, pokeMillis * 5 / 2, hearing);
    } catch (RuntimeException | Error e) {
      locked(
          () -> {
            connectIsDue = false;
            failed(e);
          });
      return;
    }
    lock.lock();
    try {
      connectIsDue = false;
      if (closed) {
        made.close();
        return;
      }
      listeners.newThread(() -> listen(made)).start();
      subscription = made;
      idlePokes = 0;
      later(pokeMillis, () -> poke(made));
    } catch (Error e) {
      made.close();
      failed(e);
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
      failed(problem);
    } finally {
      lock.unlock();
    }
  }

  private void failed(@Nullable Throwable problem) {
    if (closed) {
      return;
    }
    long pause = Math.min(LONGEST_PAUSE_MILLIS, FIRST_PAUSE_MILLIS << Math.min(failuresInRow, 10));
    failuresInRow++;
    if (problem instanceof JedisAccessControlException refusal
        && failures.explain(refusal) instanceof LockConfigurationException forbidden) {
      pause = FORBIDDEN_PAUSE_MILLIS;
      if (!forbiddenIsSaid) {
        forbiddenIsSaid = true;
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

  /** Checks that the connection is alive, and closes it when it has been idle for a while. */
  private void poke(Subscription current) {
    lock.lock();
    try {
      if (subscription != current || closed) {
        return;
      }
      idlePokes = waiters.isEmpty() ? idlePokes + 1 : 0;
      if (idlePokes > 1) {
        subscription = null;
        confirmed.clear();
        current.close();
        return;
      }
      later(pokeMillis, () -> poke(current));
    } finally {
      lock.unlock();
    }
    if (!current.isReady()) {
      // Jedis would wait without limit for the first reply.
      current.close();
      return;
    }
    try {
      current.poke();
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
