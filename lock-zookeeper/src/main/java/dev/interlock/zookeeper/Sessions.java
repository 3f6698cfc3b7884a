package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import java.time.Duration;
import java.util.List;
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
 * The sessions of one client, one after the other. Curator makes a new one when the last has ended,
 * and then everything is lost that hung on the old one.
 *
 * <p>A suspended connection is not a loss: validity runs out by itself if it lasts.
 */
final class Sessions {

  private static final Logger log = LoggerFactory.getLogger(Sessions.class);

  private final CuratorFramework curator;
  private final @Nullable PromptDrivers ours;
  private final BackendContext context;
  private final Failures failures;
  private final Duration tick;
  private final Duration patience;
  private final ConnectionStateListener listener = this::stateChanged;
  private volatile @Nullable Session current;

  @GuardedBy("this")
  private boolean closed;

  /**
   * The sessions of a framework.
   *
   * @param ours what makes the framework's drivers, if it is ours alone, so that its session may be
   *     ended
   */
  Sessions(
      CuratorFramework curator,
      @Nullable PromptDrivers ours,
      BackendContext context,
      Failures failures,
      Duration tick) {
    this.curator = curator;
    this.ours = ours;
    this.context = context;
    this.failures = failures;
    this.tick = tick;
    // Of a request's time some has passed before it is sent.
    this.patience = context.options().requestTimeout().multipliedBy(3).dividedBy(4);
    curator.getConnectionStateListenable().addListener(listener);
  }

  /**
   * The session of this moment; it may be without a connection.
   *
   * @throws dev.interlock.LockUnavailableException if there is none
   * @throws dev.interlock.LockConfigurationException if there will never be one again
   */
  Session current() {
    ZooKeeper driver = driver();
    Session known = current;
    return known != null && goesOn(known, driver) ? known : replace();
  }

  private static boolean goesOn(Session session, ZooKeeper driver) {
    return session.isOf(driver) && !session.hasChanged();
  }

  private ZooKeeper driver() {
    if (curator.getState() != CuratorFrameworkState.STARTED) {
      throw failures.wrong(
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
    throw failures.passing("there is no session at the moment", null);
  }

  private LockException explain(Exception e) {
    if (e instanceof KeeperException answer) {
      return failures.explain(answer);
    }
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    return failures.passing("no session could be made: " + e.getMessage(), e);
  }

  private Session replace() {
    Session before;
    Session next;
    synchronized (this) {
      // Asked again: a thread that was slow must not bring back a session that others saw end. That
      // would lose the leases of its successor, whose nodes stay.
      ZooKeeper driver = driver();
      before = current;
      if (before != null && goesOn(before, driver)) {
        return before;
      }
      if (closed) {
        throw failures.passing("the lock client is closed", null);
      }
      // What was heard before a time-out changed does not count.
      Moment beginning =
          ours == null || (before != null && before.isOf(driver))
              ? Moment.longBefore(context.time())
              : ours.beginningOf(driver);
      next = new Session(driver, context.time(), tick, patience, beginning);
      if (curator.getZookeeperClient().isConnected()) {
        next.connection().up();
      }
      current = next;
    }
    next.keepBeating();
    if (before != null) {
      end(before, before.ending());
      // It goes on for the servers, if its time-out was all that changed.
      before.clear();
    }
    return next;
  }

  private void end(Session session, String how) {
    List<Claim> lost = session.end();
    for (Claim claim : lost) {
      context.lost(
          claim,
          LossReason.SESSION_ENDED,
          "the session " + Long.toHexString(session.id()) + " " + how);
    }
  }

  /**
   * Ends a session before its time, because that is the only way to get rid of a node. What else
   * hangs on it is lost. The session of somebody else's framework is not ours to end.
   *
   * @param why why, for whoever loses a lease by it
   */
  void giveUp(Session session, String why) {
    if (session != current || session.hasEnded()) {
      return;
    }
    if (ours == null) {
      log.warn("{}; it stays until somebody deletes it, or the program's session ends", why);
      return;
    }
    log.warn("{}; the session is ended in place of it, and whatever is held is lost", why);
    // First the leases: the next in line are let in as soon as the servers hear of it.
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
      log.warn("the session could not be ended in order", e);
    }
  }

  private void stateChanged(CuratorFramework client, ConnectionState state) {
    Session known = current;
    if (known == null) {
      return;
    }
    if (state == ConnectionState.LOST || state.isConnected()) {
      try {
        current();
      } catch (LockException e) {
        // There is no other one yet; this one is over if its driver says so.
      }
      if (known.hasEnded()) {
        end(known, known.ending());
      }
    }
    tellConnection(state.isConnected());
  }

  // Together with replace(): a session knows of every change since it asked at its beginning.
  private synchronized void tellConnection(boolean up) {
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

  /** Of what is left on the session of this moment nobody will be told any more. */
  void close() {
    curator.getConnectionStateListenable().removeListener(listener);
    Session known;
    synchronized (this) {
      closed = true;
      known = current;
    }
    if (known != null) {
      known.silence();
      if (ours == null) {
        known.clear();
      }
    }
  }
}
