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
 * The users as which a client's sessions authenticate, for the digest scheme. ZooKeeper has no
 * users that it would ask for a password: another password is another user. So when the passwords
 * change, a session stays the former users and becomes the new ones as well, and may use the nodes
 * of both; its own nodes accept both.
 */
final class Logins {

  /** For how long answers may arrive to requests that were sent with the former passwords. */
  private static final Duration MAX_ANSWER_AGE = Duration.ofSeconds(10);

  private final Supplier<List<String>> present;

  @GuardedBy("this")
  private List<String> users;

  /** A new session is these users as well; nodes list all users of theirs. */
  @GuardedBy("this")
  private List<String> formerUsers = List.of();

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
    this.users = present.get();
  }

  /** Authenticates a new session, and again whenever the users change. */
  void begin(ZooKeeper driver) {
    refresh();
    synchronized (this) {
      drivers.removeIf(known -> !known.getState().isAlive());
      drivers.add(driver);
      Stream.of(users, formerUsers)
          .flatMap(List::stream)
          .distinct()
          .forEach(user -> authenticate(driver, user));
    }
  }

  /**
   * Reads the users again, and authenticates the sessions as new ones.
   *
   * @return whether there were any now or lately, so that a request that was refused may be granted
   */
  boolean refresh() {
    List<String> read = present.get();
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

  /** Does not block: the driver sends it before all later requests, and on later connections. */
  private static void authenticate(ZooKeeper driver, String user) {
    driver.addAuthInfo("digest", user.getBytes(StandardCharsets.UTF_8));
  }
}
