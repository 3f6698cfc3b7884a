package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.zookeeper.ZooKeeper;

/**
 * The users as which a client's sessions authenticate, for the digest scheme. ZooKeeper has no
 * users that it would ask for a password: another password is another user. So when the passwords
 * change, a session stays the former users and becomes the new ones as well, and may use the nodes
 * of both; its own nodes accept both.
 */
final class Logins {

  /** A new session has the present users and the former ones; nodes list all users of theirs. */
  private static final int MAX_GENERATIONS = 2;

  /** For how long answers may arrive to requests that were sent with the former passwords. */
  private static final Duration MAX_ANSWER_AGE = Duration.ofSeconds(10);

  private final Supplier<List<String>> present;

  /** The last different answers, the newest first. */
  @GuardedBy("this")
  private final Deque<List<String>> generations = new ArrayDeque<>();

  @GuardedBy("this")
  private final List<ZooKeeper> drivers = new ArrayList<>();

  @GuardedBy("this")
  private long changedAt = System.nanoTime() - MAX_ANSWER_AGE.toNanos();

  /**
   * Makes the logins of one client.
   *
   * @param present reads the present users, each as {@code user:password}; never throws
   */
  Logins(Supplier<List<String>> present) {
    this.present = present;
    generations.add(present.get());
  }

  /** Authenticates a new session, and again whenever the users change. */
  void begin(ZooKeeper driver) {
    refresh();
    synchronized (this) {
      drivers.removeIf(known -> !known.getState().isAlive());
      drivers.add(driver);
      Set<String> users = new LinkedHashSet<>();
      generations.forEach(users::addAll);
      users.forEach(user -> authenticate(driver, user));
    }
  }

  /**
   * Reads the users again, and authenticates the sessions as new ones.
   *
   * @return whether there were any now or lately, so that a request that was refused may be granted
   */
  boolean refresh() {
    List<String> users = present.get();
    synchronized (this) {
      List<String> before = generations.getFirst();
      long now = System.nanoTime();
      if (users.equals(before)) {
        return now - changedAt < MAX_ANSWER_AGE.toNanos();
      }
      changedAt = now;
      generations.addFirst(users);
      if (generations.size() > MAX_GENERATIONS) {
        generations.removeLast();
      }
      for (String user : users) {
        if (!before.contains(user)) {
          drivers.forEach(driver -> authenticate(driver, user));
        }
      }
      return true;
    }
  }

  /** Does not block: the driver sends it before all later requests, and on later connections. */
  private static void authenticate(ZooKeeper driver, String user) {
    driver.addAuthInfo("digest", user.getBytes(StandardCharsets.UTF_8));
  }
}
