package dev.interlock.zookeeper;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Permissions;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.StoreView;
import dev.interlock.tck.Timing;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.testbed.zookeeper.ZooKeeperServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/** A disposable ensemble, for the kit. */
final class ZooKeeperUnderTest implements Server, StoreView {

  static final Duration TICK = Duration.ofMillis(200);

  private static final Duration SESSION = Duration.ofSeconds(30);

  private final ZooKeeperEnsemble ensemble;
  private final String uri;
  private final List<ACL> onLocks;
  private final ZooKeeper observer;

  private ZooKeeperUnderTest(
      ZooKeeperEnsemble ensemble, @Nullable Duration tick, String userInfo, List<ACL> onLocks)
      throws IOException {
    this.ensemble = ensemble;
    this.uri =
        ensemble.uri().replace("://", "://" + userInfo)
            + (tick == null ? "" : "?tickTime=" + tick.toMillis() + "ms");
    this.onLocks = onLocks;
    this.observer =
        new ZooKeeper(
            ensemble.connectString(),
            Math.toIntExact(SESSION.toMillis()),
            event -> {},
            Backends.withoutSasl());
  }

  static ZooKeeperUnderTest start(int members, String... jvmFlags) throws IOException {
    return open(
        Testbed.zookeeper().withoutSync().members(members).tick(TICK).jvmFlags(jvmFlags).start(),
        TICK);
  }

  /** One server, with another unit of time, which the clients are not told. */
  static ZooKeeperUnderTest start(Duration tick) throws IOException {
    return open(Testbed.zookeeper().withoutSync().tick(tick).start(), null);
  }

  private static ZooKeeperUnderTest open(ZooKeeperEnsemble ensemble, @Nullable Duration tick)
      throws IOException {
    return new ZooKeeperUnderTest(ensemble, tick, "", Ids.OPEN_ACL_UNSAFE);
  }

  /** One server, on which locks are kept by a user with the documented rights and no others. */
  static ZooKeeperUnderTest startForUser() throws Exception {
    ZooKeeperEnsemble ensemble = Testbed.zookeeper().withoutSync().tick(TICK).start();
    DocumentedRights.grant(ensemble.connectString(), DocumentedRights.onNamespace());
    ZooKeeperUnderTest started =
        new ZooKeeperUnderTest(ensemble, TICK, DocumentedRights.USER_INFO, Ids.CREATOR_ALL_ACL);
    DocumentedRights.become(started.observer);
    return started;
  }

  /**
   * TTLs of which a session makes certain what a busy machine needs to be in time, and requests
   * that may take as long as it takes several servers to write to its disk. Delays are tolerated
   * for longer than usual: before each new connection the driver waits for up to a second.
   */
  static Timing timing(BackendInfo info) {
    Timing usual = Timing.of(info, Duration.ofSeconds(8));
    Duration more = Duration.ofSeconds(1);
    return new Timing(
        longest(Duration.ofSeconds(4), usual.ttl()),
        longest(Duration.ofSeconds(9), usual.renewedTtl()),
        usual.longTtl(),
        usual.requestTimeout().plus(more),
        usual.bound().plus(more));
  }

  private static Duration longest(Duration one, Duration other) {
    return one.compareTo(other) > 0 ? one : other;
  }

  @Override
  public String uri() {
    return uri;
  }

  @Override
  public List<ServerNode> nodes() {
    return ensemble.members().stream()
        .filter(DisposableServer::canBeHurt)
        .<ServerNode>map(member -> new Member(ensemble, member))
        .toList();
  }

  @Override
  public Optional<StoreView> view() {
    return Optional.of(this);
  }

  @Override
  public boolean delete(String name) throws Exception {
    catchUp();
    String lock = LockPaths.of("/interlock", name);
    LockQueue line = queue(lock);
    boolean deleted = false;
    for (NodeName holder : line.nodes().subList(0, line.holders())) {
      try {
        observer.delete(lock + "/" + holder.full(), -1);
        deleted = true;
      } catch (KeeperException.NoNodeException e) {
        // it has left meanwhile
      }
    }
    return deleted;
  }

  @Override
  public List<Entry> entries() throws Exception {
    catchUp();
    List<Entry> entries = new ArrayList<>();
    for (String name : childrenOf("/interlock")) {
      // A container is removed by the servers some time after its last child.
      entries.add(new Entry(Kind.FENCE, "container " + name, true));
      LockQueue line = queue("/interlock/" + name);
      for (int i = 0; i < line.nodes().size(); i++) {
        entries.add(
            new Entry(
                i < line.holders() ? Kind.HOLDER : Kind.WAITER,
                "node " + name + "/" + line.nodes().get(i).full(),
                false));
      }
    }
    for (ZooKeeperServer member : ensemble.members()) {
      for (String line : member.ask("wchp").lines().toList()) {
        if (line.startsWith("/interlock/")) {
          entries.add(new Entry(Kind.WAITER, "watch " + line, false));
        }
      }
    }
    return entries;
  }

  @Override
  public Optional<Permissions> permissions() {
    return Optional.of(
        new Permissions() {
          @Override
          public String uri() {
            return uri;
          }

          @Override
          public void take() throws KeeperException, InterruptedException {
            allowEverywhere(
                "/interlock",
                Collections.singletonList(new ACL(Perms.READ | Perms.ADMIN, Ids.ANYONE_ID_UNSAFE)));
          }

          @Override
          public void giveBack() throws Exception {
            allowEverywhere("/interlock", onLocks);
            if (onLocks.equals(Ids.CREATOR_ALL_ACL)) {
              DocumentedRights.giveBack(observer);
            }
          }
        });
  }

  /** From the given node on. */
  private void allowEverywhere(String path, List<ACL> access)
      throws KeeperException, InterruptedException {
    catchUp();
    try {
      observer.setACL(path, access, -1);
    } catch (KeeperException.NoNodeException e) {
      return;
    }
    for (String child : childrenOf(path)) {
      allowEverywhere(path + "/" + child, access);
    }
  }

  /** Lets the following reads see what any client knows to be done, on any server. */
  private void catchUp() throws KeeperException, InterruptedException {
    observer.multi(List.of(Op.check("/", -1)));
  }

  private LockQueue queue(String lock) throws KeeperException, InterruptedException {
    return LockQueue.of(new Session.Children(childrenOf(lock), 0));
  }

  private List<String> childrenOf(String path) throws KeeperException, InterruptedException {
    try {
      return observer.getChildren(path, false);
    } catch (KeeperException.NoNodeException | KeeperException.NoAuthException e) {
      return List.of(); // gone, or a user's own
    }
  }

  /** One process of the ensemble. */
  private record Member(ZooKeeperEnsemble ensemble, ZooKeeperServer server) implements ServerNode {
    @Override
    public void pause() {
      server.pause();
    }

    @Override
    public void resume() {
      server.resume();
    }

    @Override
    public void kill() {
      server.kill();
    }

    @Override
    public void restart() throws Exception {
      server.restart();
      long running =
          ensemble.members().stream()
              .filter(member -> member.state() == DisposableServer.State.RUNNING)
              .count();
      // A server without a quorum answers, but serves no client.
      if (2 * running > ensemble.members().size()) {
        Eventually.holds("the member serves", this::serves);
      }
    }

    private boolean serves() {
      try {
        return server.ask("srvr").contains("Mode: ");
      } catch (IOException e) {
        return false; // it may hang up while it looks for the others
      }
    }

    @Override
    public boolean isLeader() throws IOException {
      return server.state() == DisposableServer.State.RUNNING
          && server.ask("srvr").contains("Mode: leader");
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
}
