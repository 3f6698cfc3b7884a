package dev.interlock.testbed.kit;

import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.DisposableServer.State;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.testbed.zookeeper.ZooKeeperServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;

/** A ZooKeeper ensemble, on which each lock has a node below one root, and its queue below that. */
public class ZooKeeperStore extends StoreUnderTest {
  private static final Duration SESSION = Duration.ofSeconds(30);

  private final ZooKeeperEnsemble ensemble;
  private final Nodes nodes;
  private final ZooKeeper observer;

  /**
   * The nodes of locks.
   *
   * @param root the path of the node that has the nodes of all locks
   * @param ofLock the node of the lock with a name, below the root
   * @param lockOf the name of the lock that has a node, as far as people need it
   * @param holders those of a lock's children that are the holders'
   */
  public record Nodes(
      String root,
      UnaryOperator<String> ofLock,
      UnaryOperator<String> lockOf,
      UnaryOperator<List<String>> holders) {}

  /**
   * Makes a store, with a session of its own.
   *
   * @param uri where clients connect
   * @throws IOException if there can be no session
   */
  public ZooKeeperStore(ZooKeeperEnsemble ensemble, String uri, Nodes nodes) throws IOException {
    super(ensemble, uri);
    this.ensemble = ensemble;
    this.nodes = nodes;
    ZKClientConfig config = new ZKClientConfig();
    // With SASL a driver asks the name service before it connects, which may take long.
    config.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, "false");
    this.observer =
        new ZooKeeper(
            ensemble.connectString(), Math.toIntExact(SESSION.toMillis()), event -> {}, config);
  }

  /** {@return the session that sees and deletes nodes} */
  protected final ZooKeeper observer() {
    return observer;
  }

  @Override
  public boolean delete(String name) throws Exception {
    catchUp();
    String lock = nodes.root() + "/" + nodes.ofLock().apply(name);
    boolean isDeleted = false;
    for (String holder : nodes.holders().apply(childrenOf(lock))) {
      try {
        observer.delete(lock + "/" + holder, -1);
        isDeleted = true;
      } catch (KeeperException.NoNodeException e) {
        // It has left meanwhile.
      }
    }
    return isDeleted;
  }

  @Override
  public List<Entry> entries() throws Exception {
    catchUp();
    List<Entry> entries = new ArrayList<>();
    for (String lock : childrenOf(nodes.root())) {
      String name = nodes.lockOf().apply(lock);
      // A container is removed by the servers some time after its last child.
      entries.add(new Entry(Kind.FENCE, "container " + name, true));
      List<String> queue = childrenOf(nodes.root() + "/" + lock);
      List<String> holders = nodes.holders().apply(queue);
      for (String node : queue) {
        Kind kind = holders.contains(node) ? Kind.HOLDER : Kind.WAITER;
        entries.add(new Entry(kind, "node " + name + "/" + node, false));
      }
    }
    for (ZooKeeperServer member : ensemble.members()) {
      for (String line : member.ask("wchp").lines().toList()) {
        if (line.startsWith(nodes.root() + "/")) {
          entries.add(new Entry(Kind.WAITER, "watch " + line, false));
        }
      }
    }
    return entries;
  }

  /** Changes the access to all nodes of locks. */
  protected final void allowEverywhere(List<ACL> access) throws Exception {
    allow(nodes.root(), access);
  }

  /** From the given node on. */
  private void allow(String path, List<ACL> access) throws KeeperException, InterruptedException {
    catchUp();
    try {
      observer.setACL(path, access, -1);
    } catch (KeeperException.NoNodeException e) {
      return;
    }
    for (String child : childrenOf(path)) {
      allow(path + "/" + child, access);
    }
  }

  /** Lets the following reads see what any client knows to be done, on any server. */
  private void catchUp() throws KeeperException, InterruptedException {
    observer.multi(List.of(Op.check("/", -1)));
  }

  private List<String> childrenOf(String path) throws KeeperException, InterruptedException {
    try {
      return observer.getChildren(path, false);
    } catch (KeeperException.NoNodeException | KeeperException.NoAuthException e) {
      return List.of(); // gone, or a user's own
    }
  }

  @Override
  void awaitService(DisposableServer restarted) throws Exception {
    long running = ensemble.members().stream().filter(m -> m.state() == State.RUNNING).count();
    // A server without a quorum answers, but serves no client.
    if (2 * running > ensemble.members().size()) {
      Eventually.holds(restarted.name() + " serves", () -> serves((ZooKeeperServer) restarted));
    }
  }

  private static boolean serves(ZooKeeperServer server) {
    try {
      return server.ask("srvr").contains("Mode: ");
    } catch (IOException e) {
      return false; // it may hang up while it looks for the others
    }
  }

  @Override
  public void close() {
    try {
      observer.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      super.close();
    }
  }
}
