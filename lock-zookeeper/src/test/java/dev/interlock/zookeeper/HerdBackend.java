package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.DelayedTasks;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.WakeUp;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorWatcher;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs.Ids;

/**
 * The basic lock: the client that creates the single ephemeral node holds it, and all others watch
 * that node. It is correct, but every release wakes all waiters, and the fastest is next, whatever
 * the order in which the waiters are listed.
 */
final class HerdBackend implements LockBackend {

  private final CuratorFramework curator;
  private final BackendContext context;
  private final Failures failures;
  private final Sessions sessions;
  private final Set<Waiter> waiters = ConcurrentHashMap.newKeySet();

  HerdBackend(CuratorFramework curator, FastReconnectDrivers drivers, BackendContext context) {
    this.curator = curator;
    this.context = context;
    this.failures = new Failures(curator.getZookeeperClient().getCurrentConnectionString());
    this.sessions =
        new Sessions(
            curator,
            drivers,
            context,
            new DelayedTasks("herd"),
            failures,
            Backends.SETTINGS,
            NodeAccount.MAX_BYTES);
  }

  private static String path(String name) {
    return LockPaths.of("", "herd-" + name);
  }

  /** The beginning of the waiters' nodes. */
  private static String waiting(String name) {
    return LockPaths.of("", "waits-" + name + "-");
  }

  @Override
  public BackendInfo info() {
    BackendInfo right = ZooKeeperTopology.info(1, Backends.SETTINGS);
    Set<Capability> capabilities = EnumSet.copyOf(right.capabilities());
    capabilities.removeAll(Set.of(Capability.LIST, Capability.READ_WRITE, Capability.SEMAPHORE));
    return BackendInfoBuilder.from(right).capabilities(capabilities).build();
  }

  @Override
  public String endpoint() {
    return failures.endpoint();
  }

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    Session session = sessions.current();
    claim.attach(session);
    long sentAt = context.time().nanoTime();
    try {
      long token =
          session
              .create(
                  path(claim.name()),
                  (claim.id() + claim.label()).getBytes(UTF_8),
                  Ids.OPEN_ACL_UNSAFE,
                  CreateMode.EPHEMERAL)
              .await(deadline)
              .stat()
              .getCzxid();
      session.certainty().confirm(sentAt);
      session.addGrant(claim);
      return new Attempt.Granted(
          Grant.onSession(
              claim,
              token,
              session.certainty().confirmedAt(),
              session.certainty().validityPerConfirmation(),
              session.timeout()));
    } catch (KeeperException e) {
      if (e.code() == Code.NODEEXISTS) {
        waiters.stream().filter(one -> one.name.equals(claim.name())).forEach(Waiter::settle);
        return new Attempt.Busy(context.options().pollInterval());
      }
      throw failures.explain(e);
    }
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    return renewAll(List.of(grant), deadline).get(0);
  }

  @Override
  public int maxGrantsPerRenewal() {
    return 256;
  }

  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    Session session = sessions.current();
    long sentAt = context.time().nanoTime();
    List<Renewal> outcomes = new ArrayList<>();
    try {
      session.check(List.of("/")).await(deadline);
      List<ReplyFuture<Session.NodeData>> nodes =
          grants.stream().map(grant -> session.data(path(grant.claim().name()))).toList();
      long validUntil = session.certainty().confirm(sentAt);
      for (int i = 0; i < nodes.size(); i++) {
        Claim claim = grants.get(i).claim();
        outcomes.add(
            claim.attachment() == session && isOf(claim, nodes.get(i), deadline)
                ? new Renewal.Renewed(validUntil)
                : new Renewal.Lost(LossReason.TAKEN, "the node is gone"));
      }
      return outcomes;
    } catch (KeeperException e) {
      throw failures.explain(e);
    }
  }

  private static boolean isOf(Claim claim, ReplyFuture<Session.NodeData> node, Deadline deadline)
      throws KeeperException, InterruptedException {
    try {
      return node.await(deadline).text().startsWith(claim.id());
    } catch (KeeperException.NoNodeException e) {
      return false;
    }
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    Session session = sessions.current();
    session.removeGrant(claim);
    try {
      // Sent together, or the deletion would be too late over a slow connection.
      ReplyFuture<Boolean> sync = session.sync("/");
      ReplyFuture<Session.NodeData> node = session.data(path(claim.name()));
      sync.await(deadline);
      if (!isOf(claim, node, deadline)) {
        return false;
      }
      session.delete(path(claim.name())).await(deadline);
      return true;
    } catch (KeeperException.NoNodeException e) {
      return false;
    } catch (KeeperException e) {
      throw failures.explain(e);
    }
  }

  @Override
  public Watch watch(String name, WakeUp wakeUp) {
    Waiter waiter = new Waiter(name, wakeUp);
    waiters.add(waiter);
    waiter.settle();
    return waiter;
  }

  private static final AtomicLong arrivals = new AtomicLong();

  /**
   * Watches the lock's node, and keeps a node that makes the waiter visible. On one machine the
   * order of these nodes is that of arrival; it decides nothing.
   */
  private final class Waiter implements Watch {
    private final String name;
    private final WakeUp wakeUp;
    private final String node;
    private final AtomicBoolean watching = new AtomicBoolean();
    private volatile long session;
    private volatile boolean closed;

    Waiter(String name, WakeUp wakeUp) {
      this.name = name;
      this.wakeUp = wakeUp;
      this.node =
          "%s%020d-%d-%d"
              .formatted(
                  waiting(name),
                  System.nanoTime(),
                  ProcessHandle.current().pid(),
                  arrivals.incrementAndGet());
    }

    /** Creates the waiter's node and watch in this session if they are missing. */
    void settle() {
      try {
        long current = sessions.current().id();
        boolean anew = session != current;
        session = current;
        if (anew) {
          byte[] label = node.getBytes(UTF_8);
          curator.create().withMode(CreateMode.EPHEMERAL).inBackground().forPath(node, label);
        }
        if (watching.compareAndSet(false, true) || anew) {
          curator
              .getData()
              .usingWatcher((CuratorWatcher) event -> stir())
              .inBackground((client, reply) -> placed(reply.getResultCode()))
              .forPath(path(name));
        }
      } catch (Exception e) {
        watching.set(false); // the next look tries again
      }
    }

    private void placed(int code) {
      if (code == Code.OK.intValue()) {
        wakeUp.signal();
      } else {
        stir();
      }
    }

    private void stir() {
      watching.set(false);
      if (!closed) {
        wakeUp.signal();
      }
    }

    @Override
    public void close() {
      closed = true;
      waiters.remove(this);
      try {
        curator.delete().guaranteed().inBackground().forPath(node);
      } catch (Exception e) {
        throw new IllegalStateException("cannot leave " + node, e);
      }
    }
  }

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    Session session = sessions.current();
    try {
      session.sync("/").await(deadline);
      Session.NodeData content = session.data(path(name)).await(deadline);
      String prefix = waiting(name).substring(1);
      List<String> labels = new ArrayList<>();
      for (String node : session.children("/").await(deadline).names().stream().sorted().toList()) {
        if (node.startsWith(prefix)) {
          labels.add(node.substring(prefix.length()));
        }
      }
      return LockStates.held(name, content.text().substring(27), content.czxid(), null, labels);
    } catch (KeeperException.NoNodeException e) {
      return LockStates.free(name);
    } catch (KeeperException e) {
      throw failures.explain(e);
    }
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    try {
      return sessions.current().delete(path(name)).await(deadline);
    } catch (KeeperException.NoNodeException e) {
      return false;
    } catch (KeeperException e) {
      throw failures.explain(e);
    }
  }

  @Override
  public void close() {
    sessions.close();
  }
}
