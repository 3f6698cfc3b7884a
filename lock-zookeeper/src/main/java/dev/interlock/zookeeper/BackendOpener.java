package dev.interlock.zookeeper;

import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.DelayedTasks;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.function.Supplier;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.zookeeper.KeeperException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens backends: connects to the servers, and refuses a configuration that cannot work, with the
 * reason.
 */
final class BackendOpener {

  private static final Logger log = LoggerFactory.getLogger(BackendOpener.class);

  private static final int MAX_TICKS_UNTIL_CONTACT = 3;
  private static final Duration RETRY_PAUSE = Duration.ofMillis(20);

  private final AccessLists accessLists;
  private final ZooKeeperSettings settings;
  private final BackendContext context;
  private final DelayedTasks delayed = new DelayedTasks("interlock-zookeeper-later");
  private final int maxNodeBytes;
  private final Failures failures;

  BackendOpener(
      String endpoint,
      AccessLists accessLists,
      ZooKeeperSettings settings,
      BackendContext context,
      int maxNodeBytes) {
    this.maxNodeBytes = maxNodeBytes;
    this.accessLists = accessLists;
    this.settings = settings;
    this.context = context;
    this.failures = new Failures(endpoint);
  }

  /**
   * Opens a backend on the started framework of the program.
   *
   * @param servers the number of addresses that the framework has
   */
  ZooKeeperBackend open(int servers, CuratorFramework program) {
    return open(
        servers, Duration.ZERO, new SessionPool(sessions(program, null), null, delayed, failures));
  }

  /**
   * Opens a backend on frameworks of its own.
   *
   * @param servers the number of addresses that they have
   * @param sessionTimeout the time-out that they request
   * @param logins the users as which their sessions authenticate
   */
  ZooKeeperBackend open(
      int servers,
      Duration sessionTimeout,
      CuratorFrameworkFactory.Builder frameworks,
      Logins logins) {
    failures.refreshLoginsBy(logins::refresh);
    Supplier<Sessions> next =
        () -> {
          FastReconnectDrivers drivers = new FastReconnectDrivers(context.time(), logins);
          CuratorFramework curator = frameworks.zookeeperFactory(drivers).build();
          curator.start();
          return sessions(curator, drivers);
        };
    return open(servers, sessionTimeout, new SessionPool(next.get(), next, delayed, failures));
  }

  private Sessions sessions(CuratorFramework curator, @Nullable FastReconnectDrivers ownDrivers) {
    return new Sessions(curator, ownDrivers, context, delayed, failures, settings, maxNodeBytes);
  }

  private ZooKeeperBackend open(int servers, Duration sessionTimeout, SessionPool sessions) {
    boolean opened = false;
    try {
      checkServers(sessions.first(), sessionTimeout);
      ZooKeeperBackend backend =
          new ZooKeeperBackend(
              ZooKeeperTopology.info(servers, settings), sessions, accessLists, context, failures);
      opened = true;
      return backend;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failures.temporary("interrupted while connecting", e);
    } finally {
      if (!opened) {
        sessions.close();
      }
    }
  }

  private void checkServers(Sessions sessions, Duration sessionTimeout)
      throws InterruptedException {
    Deadline deadline = Deadline.in(context.time(), context.options().requestTimeout());
    Session session = awaitFirstReply(sessions, deadline);
    session.requireMinTimeout(failures);
    warnIfShorter(session.timeout(), sessionTimeout);
    // On a session that is older than this client, the contact takes two ticks. If it takes longer,
    // say because a server has lost the others, the first acquisition waits for it.
    session.awaitLeaderContact(
        new WakeUp(context.time()),
        Deadline.in(context.time(), settings.tickTime().multipliedBy(MAX_TICKS_UNTIL_CONTACT)));
  }

  private static void warnIfShorter(Duration granted, Duration wanted) {
    if (granted.compareTo(wanted) < 0) {
      log.warn(
          "the servers granted a session time-out of {} ms instead of {} ms: a longer pause or"
              + " outage loses all leases, whatever their TTL; raise the servers'"
              + " maxSessionTimeout",
          granted.toMillis(),
          wanted.toMillis());
    }
  }

  /**
   * Returns the session on which the servers first replied. Repeats the requests if a connection
   * breaks.
   */
  private Session awaitFirstReply(Sessions sessions, Deadline deadline)
      throws InterruptedException {
    KeeperException broken = null;
    while (true) {
      awaitConnection(sessions, deadline, broken);
      Session session = sessions.current();
      try {
        requireRoot(session, deadline);
        session.requireKnownFormat(failures, deadline);
        return session;
      } catch (KeeperException e) {
        boolean broke =
            e.code() == KeeperException.Code.CONNECTIONLOSS
                || e.code() == KeeperException.Code.SESSIONEXPIRED;
        if (!broke || deadline.hasPassed()) {
          throw failures.explain(e);
        }
        broken = e;
        // A driver that is being closed fails at once every time.
        var unused = new WakeUp(context.time()).await(deadline.atMost(RETRY_PAUSE));
      }
    }
  }

  private void requireRoot(Session session, Deadline deadline)
      throws KeeperException, InterruptedException {
    try {
      session.data("/").await(deadline);
    } catch (KeeperException e) {
      if (Failures.isNoNode(e)) {
        throw failures.noChroot(e);
      }
      // A user without the right to read the root may have rights below it.
      if (e.code() != KeeperException.Code.NOAUTH) {
        throw e;
      }
    }
  }

  private void awaitConnection(
      Sessions sessions, Deadline deadline, @Nullable KeeperException broken)
      throws InterruptedException {
    if (sessions.awaitConnection(deadline)) {
      return;
    }
    String within = "within " + context.options().requestTimeout().toMillis() + " ms";
    throw broken != null
        ? failures.temporary("every connection broke " + within, broken)
        : failures.temporary(
            "no server accepted a connection "
                + within
                + "; is a ZooKeeper with a quorum running there? (A server that requires TLS or SASL"
                + " gives no reason for a refusal.)",
            null);
  }
}
