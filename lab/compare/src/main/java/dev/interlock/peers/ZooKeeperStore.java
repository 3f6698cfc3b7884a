package dev.interlock.peers;

import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.testbed.zookeeper.ZooKeeperServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;

/** A ZooKeeper server. */
final class ZooKeeperStore extends PeerStore {
  /** Sessions last for 2 to 20 of these. */
  static final Duration TICK = Duration.ofSeconds(1);

  private final ZooKeeperEnsemble ensemble;
  private final ZooKeeper observer;

  private ZooKeeperStore(ZooKeeperEnsemble ensemble) throws IOException {
    super(ensemble.members());
    this.ensemble = ensemble;
    this.observer = new ZooKeeper(ensemble.connectString(), 30_000, event -> {});
  }

  static ZooKeeperStore start() throws IOException {
    return new ZooKeeperStore(Testbed.zookeeper().tick(TICK).start());
  }

  @Override
  public String uri() {
    return "zookeeper://" + ensemble.connectString();
  }

  @Override
  public boolean delete(String name) throws Exception {
    String path = CuratorPeer.path(name);
    List<String> holders = new ArrayList<>(children(path));
    if (holders.isEmpty()) {
      return false;
    }
    holders.sort((a, b) -> sequence(a).compareTo(sequence(b)));
    observer.delete(path + "/" + holders.get(0), -1);
    return true;
  }

  private static String sequence(String node) {
    return node.substring(Math.max(0, node.length() - 10));
  }

  @Override
  public List<Entry> entries() throws Exception {
    List<Entry> entries = new ArrayList<>();
    for (String lock : children(CuratorPeer.ROOT)) {
      // a container, which the server removes some time after its last child
      entries.add(new Entry(Kind.FENCE, "container " + CuratorPeer.name(lock), true));
      for (String node : children(CuratorPeer.ROOT + "/" + lock)) {
        entries.add(new Entry(Kind.HOLDER, "node " + CuratorPeer.name(lock) + "/" + node, false));
      }
    }
    return entries;
  }

  private List<String> children(String path) throws KeeperException, InterruptedException {
    try {
      return observer.getChildren(path, false);
    } catch (KeeperException.NoNodeException e) {
      return List.of();
    }
  }

  @Override
  public void close() {
    try {
      observer.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      ensemble.close();
    }
  }

  @Override
  void awaitService(DisposableServer server) throws Exception {
    Eventually.holds("the server serves", () -> serves((ZooKeeperServer) server));
  }

  private static boolean serves(ZooKeeperServer server) {
    try {
      return server.ask("srvr").contains("Mode: ");
    } catch (IOException e) {
      return false;
    }
  }
}
