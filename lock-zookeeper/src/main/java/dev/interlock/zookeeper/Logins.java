package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.zookeeper.ZooKeeper;

/**
 * The users as which a client's sessions authenticate, for the digest scheme. In that scheme the
 * password is part of the user's identity: another password is another user. So when the passwords
 * change, a session remains the former users and becomes the new ones as well. It may use the nodes
 * of both, and its own nodes accept both.
 */
final class Logins {

  /** The time for which replies may arrive to requests that were sent with the former passwords. */
  private static final Duration MAX_ANSWER_AGE = Duration.ofSeconds(10);

  private final Supplier<List<String>> source;

  @GuardedBy("this")
  private List<String> users;

  /**
   * The previous users, as which new sessions authenticate as well: a node accepts all users of its
   * session.
   */
  @GuardedBy("this")
  private List<String> formerUsers = List.of();

  @GuardedBy("this")
  private final List<ZooKeeper> drivers = new ArrayList<>();

  @GuardedBy("this")
  private long changedAt = System.nanoTime() - MAX_ANSWER_AGE.toNanos();

  /**
   * Creates the logins of one client.
   *
   * @param source reads the current users, each as {@code user:password}; never throws
   */
  Logins(Supplier<List<String>> source) {
    this.source = source;
    this.users = source.get();
  }

  /** Authenticates a new session, and again whenever the users change. */
  void begin(ZooKeeper driver) {
    refresh();
    synchronized (this) {
      drivers.removeIf(existing -> !existing.getState().isAlive());
      drivers.add(driver);
      Stream.of(users, formerUsers)
          .flatMap(List::stream)
          .distinct()
          .forEach(user -> authenticate(driver, user));
    }
  }

  /**
   * Reads the users again, and authenticates the sessions as the new ones.
   *
   * @return whether there are new ones, or were until recently, so that a refused request may now
   *     succeed
   */
  boolean refresh() {
    List<String> read = source.get();
    synchronized (this) {
      long now = System.nanoTime();
      if (read.equals(users)) {
        return now - changedAt < MAX_ANSWER_AGE.toNanos();
      }
      changedAt = now;
      formerUsers = users;
      users = read;
      for (String user : users) {
        if (!formerUsers.contains(user)) {
          drivers.forEach(driver -> authenticate(driver, user));
        }
      }
      return true;
    }
  }

  /**
   * Does not block. The driver sends the login before all later requests, and on later connections.
   */
  private static void authenticate(ZooKeeper driver, String user) {
    driver.addAuthInfo("digest", user.getBytes(StandardCharsets.UTF_8));
  }
}
