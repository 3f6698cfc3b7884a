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

/**
 * A ZooKeeper ensemble with a node for each lock, below one root, and the lock's queue below it.
 */
public class ZooKeeperStore extends StoreUnderTest {
  private static final Duration SESSION_TIMEOUT = Duration.ofSeconds(30);

  private final ZooKeeperEnsemble ensemble;
  private final Nodes nodes;
  private final ZooKeeper observer;

  /**
   * The nodes of locks.
   *
   * @param root the path of the parent of all locks' nodes
   * @param ofLock returns the node of a lock, below the root, by the lock's name
   * @param lockOf returns the name of a node's lock, for messages
   * @param holders returns the holders' nodes among a lock's children
   */
  public record Nodes(
      String root,
      UnaryOperator<String> ofLock,
      UnaryOperator<String> lockOf,
      UnaryOperator<List<String>> holders) {}

  /**
   * Creates a store, with a session of its own.
   *
   * @param uri the URI for clients
   * @throws IOException if the session cannot be started
   */
  public ZooKeeperStore(ZooKeeperEnsemble ensemble, String uri, Nodes nodes) throws IOException {
    super(ensemble, uri);
    this.ensemble = ensemble;
    this.nodes = nodes;
    ZKClientConfig config = new ZKClientConfig();
    // With SASL the driver resolves the host's name before it connects, which may take long.
    config.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, "false");
    this.observer =
        new ZooKeeper(
            ensemble.connectString(),
            Math.toIntExact(SESSION_TIMEOUT.toMillis()),
            event -> {},
            config);
  }

  /** {@return the session that reads and deletes nodes} */
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
        // the holder has left
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
      // The servers remove a container some time after its last child.
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

  /** Sets the access control list of all locks' nodes. */
  protected final void setAccess(List<ACL> access) throws Exception {
    setAccess(nodes.root(), access);
  }

  /** Sets the access control list of a node and its descendants. */
  private void setAccess(String path, List<ACL> access)
      throws KeeperException, InterruptedException {
    catchUp();
    try {
      observer.setACL(path, access, -1);
    } catch (KeeperException.NoNodeException e) {
      return;
    }
    for (String child : childrenOf(path)) {
      setAccess(path + "/" + child, access);
    }
  }

  /** Synchronizes, so that later reads show every change that any client has seen. */
  private void catchUp() throws KeeperException, InterruptedException {
    observer.multi(List.of(Op.check("/", -1)));
  }

  private List<String> childrenOf(String path) throws KeeperException, InterruptedException {
    try {
      return observer.getChildren(path, false);
    } catch (KeeperException.NoNodeException | KeeperException.NoAuthException e) {
      return List.of(); // deleted, or not readable
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
      return false; // it may close connections while it looks for its peers
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
