package dev.interlock.zookeeper;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Permissions;
import dev.interlock.tck.Timing;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.kit.ZooKeeperStore;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.io.IOException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/** A disposable ensemble for the kit. */
final class ZooKeeperUnderTest extends ZooKeeperStore {

  static final Duration TICK = Duration.ofMillis(200);

  private final List<ACL> onLocks;

  private ZooKeeperUnderTest(
      ZooKeeperEnsemble ensemble, @Nullable Duration tick, String userInfo, List<ACL> onLocks)
      throws IOException {
    super(
        ensemble,
        ensemble.uri().replace("://", "://" + userInfo)
            + (tick == null ? "" : "?tickTime=" + tick.toMillis() + "ms"),
        new Nodes(
            "/interlock", LockPaths::node, UnaryOperator.identity(), ZooKeeperUnderTest::holders));
    this.onLocks = onLocks;
  }

  private static List<String> holders(List<String> queue) {
    LockQueue line = LockQueue.of(new Session.Children(queue, 0));
    return line.nodes().subList(0, line.holders()).stream().map(NodeName::full).toList();
  }

  static ZooKeeperUnderTest start(int members, String... jvmFlags) throws IOException {
    return open(
        Testbed.zookeeper().withoutSync().members(members).tick(TICK).jvmFlags(jvmFlags).start(),
        TICK);
  }

  /** Returns one server with another tickTime, which the clients do not know. */
  static ZooKeeperUnderTest start(Duration tick) throws IOException {
    return open(Testbed.zookeeper().withoutSync().tick(tick).start(), null);
  }

  private static ZooKeeperUnderTest open(ZooKeeperEnsemble ensemble, @Nullable Duration tick)
      throws IOException {
    return new ZooKeeperUnderTest(ensemble, tick, "", Ids.OPEN_ACL_UNSAFE);
  }

  /** Returns one server for a user who has only the documented rights. */
  static ZooKeeperUnderTest startForUser() throws Exception {
    ZooKeeperEnsemble ensemble = Testbed.zookeeper().withoutSync().tick(TICK).start();
    DocumentedRights.grant(ensemble.connectString(), DocumentedRights.onNamespace());
    ZooKeeperUnderTest started =
        new ZooKeeperUnderTest(ensemble, TICK, DocumentedRights.USER_INFO, Ids.CREATOR_ALL_ACL);
    DocumentedRights.become(started.observer());
    return started;
  }

  /**
   * Returns TTLs whose sessions leave enough validity for a busy machine, and request time-outs in
   * which several servers can write to its disk. Delays are tolerated for longer than usual,
   * because the driver waits for up to a second before each new connection.
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
  public Optional<Permissions> permissions() {
    return Optional.of(
        new Permissions() {
          @Override
          public String uri() {
            return ZooKeeperUnderTest.this.uri();
          }

          @Override
          public void deny() throws Exception {
            setAccess(
                Collections.singletonList(new ACL(Perms.READ | Perms.ADMIN, Ids.ANYONE_ID_UNSAFE)));
          }

          @Override
          public void allow() throws Exception {
            setAccess(onLocks);
            if (onLocks.equals(Ids.CREATOR_ALL_ACL)) {
              DocumentedRights.giveBack(observer());
            }
          }
        });
  }
}
