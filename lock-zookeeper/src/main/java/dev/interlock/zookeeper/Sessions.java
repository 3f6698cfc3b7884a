package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.DelayedTasks;
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
 * The successive sessions of one framework. Curator begins a new session when the last one has
 * ended; the grants on the old session are lost.
 *
 * <p>A suspended connection by itself loses no grant. If it lasts, the validity of the grants runs
 * out.
 */
final class Sessions {

  private static final Logger log = LoggerFactory.getLogger(Sessions.class);

  /** The size of the length that precedes each path in a transaction. */
  private static final int LENGTH_BYTES = Integer.BYTES;

  private static final int MAX_NUMBER_BYTES = 11;

  private final CuratorFramework curator;
  private final @Nullable FastReconnectDrivers ownDrivers;
  private final BackendContext context;
  private final DelayedTasks delayed;
  private final Failures failures;
  private final ZooKeeperSettings settings;
  private final int maxNodeBytes;
  private final String namespacePath;
  private final String chroot;
  private final ConnectionStateListener listener = this::onStateChange;
  private volatile @Nullable Session current;

  private volatile boolean closed;

  /**
   * Follows the sessions of a framework.
   *
   * @param ownDrivers the factory of the framework's drivers if the framework belongs to this
   *     client alone; the client may then end its sessions, and closes the framework
   * @param maxNodeBytes the limit of each session's {@link NodeAccount}
   */
  Sessions(
      CuratorFramework curator,
      @Nullable FastReconnectDrivers ownDrivers,
      BackendContext context,
      DelayedTasks delayed,
      Failures failures,
      ZooKeeperSettings settings,
      int maxNodeBytes) {
    this.curator = curator;
    this.ownDrivers = ownDrivers;
    this.context = context;
    this.delayed = delayed;
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

  /** The time for which a connection may be silent while a request is pending. */
  Duration silenceTimeout() {
    // Part of a request's time has passed before it is sent.
    return context.options().requestTimeout().multipliedBy(3).dividedBy(4);
  }

  /** The scheduler that all sessions of the client share. */
  DelayedTasks delayedTasks() {
    return delayed;
  }

  /** Returns the bytes of a claim's node in the transaction that ends its session. */
  int nodeBytes(Claim claim) {
    String prefix = chroot + LockPaths.nodePrefix(namespacePath, claim);
    return LENGTH_BYTES + prefix.getBytes(UTF_8).length + MAX_NUMBER_BYTES;
  }

  boolean isConnected() {
    return curator.getZookeeperClient().isConnected();
  }

  /** Waits for a connection. Returns false if there is none by the deadline. */
  @CanIgnoreReturnValue
  boolean awaitConnection(Deadline deadline) throws InterruptedException {
    return curator.blockUntilConnected(
        (int) Math.max(1, deadline.remaining().toMillis()), TimeUnit.MILLISECONDS);
  }

  /**
   * Returns the current session, which may have no connection.
   *
   * @throws dev.interlock.LockUnavailableException if there is no session
   * @throws dev.interlock.LockConfigurationException if there will never be one again
   */
  Session current() {
    ZooKeeper driver = driver();
    Session session = current;
    if (session == null || !isUsable(session, driver)) {
      return replace();
    }
    session.sendHeartbeats();
    return session;
  }

  private static boolean isUsable(Session session, ZooKeeper driver) {
    return session.isOf(driver) && !session.isTimeoutChanged();
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
    Session previous;
    Session next;
    synchronized (this) {
      // Read the driver again: a slow thread must not bring back a session that others saw end.
      // Otherwise the leases of the next session would be lost, and their nodes left behind.
      ZooKeeper driver = driver();
      previous = current;
      if (previous != null && isUsable(previous, driver)) {
        return previous;
      }
      // Contact before the time-out changed does not count.
      ClockReading beginning =
          ownDrivers == null || (previous != null && previous.isOf(driver))
              ? ClockReading.longBefore(time())
              : ownDrivers.beginningOf(driver);
      next = new Session(this, driver, NodeAccount.of(driver, maxNodeBytes), beginning);
      if (isConnected()) {
        next.connection().onConnected();
      }
      current = next;
    }
    next.sendHeartbeats();
    if (previous != null) {
      end(previous, previous.endReason());
      // If only its time-out has changed, the session lives on.
      previous.cleanUp();
    }
    return next;
  }

  private void end(Session session, String reason) {
    List<Claim> lost = session.end();
    for (Claim claim : lost) {
      context.reportLoss(
          claim,
          LossReason.SESSION_ENDED,
          "the session " + Long.toHexString(session.id()) + " " + reason);
    }
  }

  /**
   * Ends a session early, because its node cannot be deleted in another way. All grants on the
   * session are lost. Does not end the session of a program's own framework.
   *
   * @param why the reason, for the log and for the holders of the lost leases
   */
  void endEarly(Session session, String why) {
    if (session != current || session.hasEnded()) {
      return;
    }
    if (ownDrivers == null) {
      log.warn("{}; the node stays until it is deleted or the program's session ends", why);
      return;
    }
    log.warn("{}; ending the session instead, so all leases on it are lost", why);
    // Report the losses first: the servers grant the locks to others as soon as they end the
    // session.
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

  private void onStateChange(CuratorFramework client, ConnectionState state) {
    Session session = current;
    if (session != null && (state == ConnectionState.LOST || state.isConnected())) {
      try {
        current();
      } catch (LockException e) {
        // There is no new session yet.
      }
      if (session.hasEnded()) {
        end(session, session.endReason());
      }
    }
    onConnectionChange(state.isConnected());
  }

  // Synchronized like replace(), so that a new session misses no change.
  private synchronized void onConnectionChange(boolean isConnected) {
    Session session = current;
    if (session == null) {
      return;
    }
    if (isConnected) {
      session.connection().onConnected();
    } else {
      session.connection().onDisconnected();
    }
  }

  /**
   * Stops reporting losses and sending heartbeats. If the framework belongs to this client, also
   * ends the current session, and its nodes with it.
   */
  void close() {
    curator.getConnectionStateListenable().removeListener(listener);
    Session last;
    synchronized (this) {
      closed = true;
      last = current;
    }
    if (last != null) {
      last.stopHeartbeats();
      if (ownDrivers == null) {
        last.cleanUp();
      }
    }
    if (ownDrivers != null) {
      curator.close();
    }
  }
}
