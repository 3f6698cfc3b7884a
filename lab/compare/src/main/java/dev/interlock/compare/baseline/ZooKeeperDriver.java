package dev.interlock.compare.baseline;

import dev.interlock.spi.LockUri;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/** The lock recipe from the documentation of ZooKeeper, without waiting. */
public final class ZooKeeperDriver implements BareDriver {
  private static final int DEFAULT_PORT = 2181;
  private static final int SESSION_MILLIS = 20_000;
  private static final String ROOT = "/interlock-baseline";

  /** Used by {@link java.util.ServiceLoader}. */
  public ZooKeeperDriver() {}

  @Override
  public Set<String> schemes() {
    return Set.of("zookeeper");
  }

  @Override
  public String summary() {
    return "an ephemeral sequential node and the list of its siblings, requested together, then"
        + " delete, on one ZooKeeper session";
  }

  @Override
  public Session open(String uri, int threads) throws Exception {
    String addresses =
        LockUri.parse(uri).endpoints(DEFAULT_PORT).stream()
            .map(LockUri.Endpoint::toString)
            .collect(Collectors.joining(","));
    CountDownLatch connected = new CountDownLatch(1);
    ZooKeeper client =
        new ZooKeeper(
            addresses,
            SESSION_MILLIS,
            event -> {
              if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
              }
            });
    if (!connected.await(SESSION_MILLIS, TimeUnit.MILLISECONDS)) {
      client.close();
      throw new IllegalStateException(
          "could not connect to " + addresses + " within " + SESSION_MILLIS + " ms");
    }
    Connection session = new Connection(client, ConcurrentHashMap.newKeySet());
    session.createIfMissing(ROOT);
    return session;
  }

  /** A ZooKeeper session, and the parent nodes that it has created. */
  private record Connection(ZooKeeper client, Set<String> parents) implements Session {

    @Override
    public void cycle(String name) throws Exception {
      String parent = ROOT + "/" + name;
      if (!parents.contains(parent)) {
        createIfMissing(parent);
        parents.add(parent);
      }
      CompletableFuture<String> created = new CompletableFuture<>();
      CompletableFuture<List<String>> siblings = new CompletableFuture<>();
      client.create(
          parent + "/n-",
          name.getBytes(StandardCharsets.UTF_8),
          ZooDefs.Ids.OPEN_ACL_UNSAFE,
          CreateMode.EPHEMERAL_SEQUENTIAL,
          (code, path, context, made) -> complete(created, code, path, made),
          null);
      client.getChildren(
          parent,
          false,
          (code, path, context, children) -> complete(siblings, code, path, children),
          null);
      String node = created.get();
      List<String> queue = siblings.get();
      if (queue.size() != 1 || !node.endsWith(queue.get(0))) {
        throw new IllegalStateException(parent + " has other children: " + queue);
      }
      client.delete(node, -1);
    }

    private static <T> void complete(CompletableFuture<T> future, int code, String path, T result) {
      if (code == KeeperException.Code.OK.intValue()) {
        future.complete(result);
      } else {
        future.completeExceptionally(KeeperException.create(KeeperException.Code.get(code), path));
      }
    }

    void createIfMissing(String path) throws Exception {
      try {
        client.create(path, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
      } catch (KeeperException.NodeExistsException e) {
        return; // another client has created it
      }
    }

    @Override
    public long storedKeys() throws Exception {
      return client.getAllChildrenNumber("/");
    }

    /** Deletes the parent nodes, since the store may belong to the user. */
    @Override
    public void close() {
      try (client) {
        for (String parent : parents) {
          client.delete(parent, -1);
        }
      } catch (KeeperException e) {
        return; // the server is gone
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
