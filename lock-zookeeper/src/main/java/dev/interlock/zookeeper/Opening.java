package dev.interlock.zookeeper;

import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;
import org.jspecify.annotations.Nullable;

/** The first contact with the servers: whatever cannot work is refused here, with its reason. */
final class Opening {

  private static final int TICKS_UNTIL_KNOWN = 3;
  private static final Duration UNTIL_NEXT_TRY = Duration.ofMillis(20);

  private final CuratorFramework curator;
  private final AccessLists accessLists;
  private final ZooKeeperSettings settings;
  private final BackendContext context;
  private final Failures failures;

  Opening(
      CuratorFramework curator,
      String endpoint,
      AccessLists accessLists,
      ZooKeeperSettings settings,
      BackendContext context) {
    this.curator = curator;
    this.accessLists = accessLists;
    this.settings = settings;
    this.context = context;
    this.failures = new Failures(endpoint);
  }

  /**
   * Makes a backend on the started framework.
   *
   * @param servers how many addresses the framework has
   * @param ours what makes the framework's drivers, if it is ours alone
   * @param disconnect what to do at the end, also if there is no backend in the end
   */
  ZooKeeperBackend of(int servers, @Nullable PromptDrivers ours, Runnable disconnect) {
    Sessions sessions = new Sessions(curator, ours, context, failures, settings.tickTime());
    boolean opened = false;
    try {
      greet(sessions);
      ZooKeeperBackend backend =
          new ZooKeeperBackend(
              Topology.info(servers, settings.tickTime()),
              sessions,
              namespacePath(),
              accessLists,
              context,
              failures,
              disconnect);
      opened = true;
      return backend;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failures.passing("interrupted while connecting", e);
    } finally {
      if (!opened) {
        sessions.close();
        disconnect.run();
      }
    }
  }

  private String namespacePath() {
    String outer = curator.getNamespace();
    return (outer == null || outer.isEmpty() ? "" : "/" + outer) + "/" + settings.namespace();
  }

  private void greet(Sessions sessions) throws InterruptedException {
    Deadline deadline = Deadline.in(context.time(), context.options().requestTimeout());
    Session session = firstAnswered(sessions, deadline);
    session.requireLong(failures);
    // Of a session that was there before us it takes two ticks to know. If it takes longer,
    // because of a server that has lost the others say, the first acquisition waits for it.
    session.awaitPulse(
        new WakeUp(context.time()),
        Deadline.in(context.time(), settings.tickTime().multipliedBy(TICKS_UNTIL_KNOWN)));
  }

  /** Asks again on the next connection if one breaks meanwhile. */
  private Session firstAnswered(Sessions sessions, Deadline deadline) throws InterruptedException {
    KeeperException broken = null;
    while (true) {
      awaitConnection(deadline, broken);
      Session session = sessions.current();
      try {
        session.data("/").await(deadline);
        return session;
      } catch (KeeperException e) {
        if (e.code() == KeeperException.Code.NOAUTH) {
          // Whoever may not read the root may still have a place below it.
          return session;
        }
        if (Failures.isNoNode(e)) {
          throw failures.wrong("the node of the chroot does not exist; make it first", e);
        }
        boolean broke =
            e.code() == KeeperException.Code.CONNECTIONLOSS
                || e.code() == KeeperException.Code.SESSIONEXPIRED;
        if (!broke || deadline.hasPassed()) {
          throw failures.explain(e);
        }
        broken = e;
        // A driver that is being closed says so at once, and again.
        var unused = new WakeUp(context.time()).await(deadline.orIn(UNTIL_NEXT_TRY));
      }
    }
  }

  private void awaitConnection(Deadline deadline, @Nullable KeeperException broken)
      throws InterruptedException {
    if (curator.blockUntilConnected(
        (int) Math.max(1, deadline.remaining().toMillis()), TimeUnit.MILLISECONDS)) {
      return;
    }
    String within = "within " + context.options().requestTimeout().toMillis() + " ms";
    throw broken != null
        ? failures.passing("the connection broke, and none lasted " + within, broken)
        : failures.passing(
            "no server let us connect "
                + within
                + "; does a ZooKeeper with a quorum serve there? (One with TLS, or with SASL alone,"
                + " does not say what is missing.)",
            null);
  }
}
