package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Later;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sessions of one framework, one after the other. Curator begins a new one when the last has
 * ended; the grants on the old one are lost then.
 *
 * <p>A suspended connection loses no grant: their validity runs out if it lasts.
 */
final class Sessions {

  private static final Logger log = LoggerFactory.getLogger(Sessions.class);

  /** The length that precedes each path in a transaction. */
  private static final int LENGTH_BYTES = Integer.BYTES;

  private static final int MAX_NUMBER_BYTES = 11;

  private final CuratorFramework curator;
  private final @Nullable FastReconnectDrivers ours;
  private final BackendContext context;
  private final Later later;
  private final Failures failures;
  private final ZooKeeperSettings settings;
  private final int maxNodeBytes;
  private final String namespacePath;
  private final String chroot;
  private final ConnectionStateListener listener = this::stateChanged;
  private volatile @Nullable Session current;

  private volatile boolean closed;

  /**
   * Follows the sessions of a framework.
   *
   * @param ours the factory of the framework's drivers, if the framework belongs to this client
   *     alone, which may then end its sessions, and closes it
   * @param maxNodeBytes the limit of each session's {@link NodeAccount}
   */
  Sessions(
      CuratorFramework curator,
      @Nullable FastReconnectDrivers ours,
      BackendContext context,
      Later later,
      Failures failures,
      ZooKeeperSettings settings,
      int maxNodeBytes) {
    this.curator = curator;
    this.ours = ours;
    this.context = context;
    this.later = later;
    this.failures = failures;
    this.settings = settings;
    this.maxNodeBytes = maxNodeBytes;
    String servers = curator.getZookeeperClient().getCurrentConnectionString();
    this.chroot = servers.contains("/") ? servers.substring(servers.indexOf('/')) : "";
    String outer = curator.getNamespace();
    this.namespacePath =
        (outer == null || outer.isEmpty() ? "" : "/" + outer) + "/" + settings.namespace();
    curator.getConnectionStateListenable().addListener(listener);
  }

  /** The path of the node below which the locks are stored. */
  String namespacePath() {
    return namespacePath;
  }

  ZooKeeperSettings settings() {
    return settings;
  }

  TimeSource time() {
    return context.time();
  }

  /** How long a connection may be silent while a request is pending. */
  Duration patience() {
    // Some of a request's time has passed before it is sent.
    return context.options().requestTimeout().multipliedBy(3).dividedBy(4);
  }

  /** Runs what is due later. */
  Later later() {
    return later;
  }

  /** Returns the bytes of a claim's node in the transaction that ends its session. */
  int nodeBytes(Claim claim) {
    String prefix = chroot + LockPaths.nodePrefix(namespacePath, claim);
    return LENGTH_BYTES + prefix.getBytes(UTF_8).length + MAX_NUMBER_BYTES;
  }

  boolean isConnected() {
    return curator.getZookeeperClient().isConnected();
  }

  /** Waits for a connection; false if there is none by the deadline. */
  @CanIgnoreReturnValue
  boolean awaitConnection(Deadline deadline) throws InterruptedException {
    return curator.blockUntilConnected(
        (int) Math.max(1, deadline.remaining().toMillis()), TimeUnit.MILLISECONDS);
  }

  /**
   * Returns the present session, which may have no connection.
   *
   * @throws dev.interlock.LockUnavailableException if there is no session
   * @throws dev.interlock.LockConfigurationException if there will never be one again
   */
  Session current() {
    ZooKeeper driver = driver();
    Session known = current;
    if (known == null || !goesOn(known, driver)) {
      return replace();
    }
    known.sendHeartbeats();
    return known;
  }

  private static boolean goesOn(Session session, ZooKeeper driver) {
    return session.isOf(driver) && !session.hasChanged();
  }

  private ZooKeeper driver() {
    if (closed) {
      throw failures.temporary("the lock client is closed", null);
    }
    if (curator.getState() != CuratorFrameworkState.STARTED) {
      throw failures.misconfigured(
          "the CuratorFramework was closed before the LockClient that uses it", null);
    }
    try {
      ZooKeeper driver = curator.getZookeeperClient().getZooKeeper();
      if (driver != null) {
        return driver;
      }
    } catch (Exception e) {
      throw explain(e);
    }
    throw failures.temporary("there is no session", null);
  }

  private LockException explain(Exception e) {
    if (e instanceof KeeperException answer) {
      return failures.explain(answer);
    }
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    return failures.temporary("could not begin a session: " + e.getMessage(), e);
  }

  private Session replace() {
    Session before;
    Session next;
    synchronized (this) {
      // Read the driver again: a slow thread must not bring back a session that others saw end. The
      // leases of the next session would be lost then, while their nodes stay.
      ZooKeeper driver = driver();
      before = current;
      if (before != null && goesOn(before, driver)) {
        return before;
      }
      // Contact before the time-out changed does not count.
      ClockReading beginning =
          ours == null || (before != null && before.isOf(driver))
              ? ClockReading.longBefore(time())
              : ours.beginningOf(driver);
      next = new Session(this, driver, NodeAccount.of(driver, maxNodeBytes), beginning);
      if (isConnected()) {
        next.connection().up();
      }
      current = next;
    }
    next.sendHeartbeats();
    if (before != null) {
      end(before, before.ending());
      // If only its time-out has changed, the session lives on.
      before.abandon();
    }
    return next;
  }

  private void end(Session session, String how) {
    List<Claim> lost = session.end();
    for (Claim claim : lost) {
      context.reportLoss(
          claim,
          LossReason.SESSION_ENDED,
          "the session " + Long.toHexString(session.id()) + " " + how);
    }
  }

  /**
   * Ends a session early, because a node on it cannot be deleted in another way. All grants on it
   * are lost. The session of a program's own framework is not ended.
   *
   * @param why the reason, for those whose leases are lost
   */
  void giveUp(Session session, String why) {
    if (session != current || session.hasEnded()) {
      return;
    }
    if (ours == null) {
      log.warn("{}; it stays until it is deleted, or the program's session ends", why);
      return;
    }
    log.warn("{}; ending the session instead, which loses all leases on it", why);
    // Report the losses first: the servers let the next clients in as soon as they hear of it.
    end(session, "was ended: " + why);
    try {
      curator.getZookeeperClient().reset();
      current();
    } catch (LockException e) {
      log.debug("there is no new session yet", e);
    } catch (Exception e) {
      if (e instanceof InterruptedException) {
        Thread.currentThread().interrupt();
      }
      log.warn("could not end the session", e);
    }
  }

  private void stateChanged(CuratorFramework client, ConnectionState state) {
    Session known = current;
    if (known != null && (state == ConnectionState.LOST || state.isConnected())) {
      try {
        current();
      } catch (LockException e) {
        // There is no new session yet.
      }
      if (known.hasEnded()) {
        end(known, known.ending());
      }
    }
    connectionChanged(state.isConnected());
  }

  // Synchronized like replace(), so that a new session misses no change.
  private synchronized void connectionChanged(boolean up) {
    Session now = current;
    if (now == null) {
      return;
    }
    if (up) {
      now.connection().up();
    } else {
      now.connection().down();
    }
  }

  /**
   * Ends the reports of losses, and what this client keeps going on the present session; and that
   * session with its nodes, if the framework belongs to this client.
   */
  void close() {
    curator.getConnectionStateListenable().removeListener(listener);
    Session known;
    synchronized (this) {
      closed = true;
      known = current;
    }
    if (known != null) {
      known.endHeartbeats();
      if (ours == null) {
        known.abandon();
      }
    }
    if (ours != null) {
      curator.close();
    }
  }
}
