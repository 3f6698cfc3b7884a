package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.Attempt;
import dev.interlock.spi.Grant;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.DirectoryUtils;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.QuorumConfigBuilder;
import org.apache.zookeeper.server.quorum.Leader;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.apache.zookeeper.server.quorum.QuorumPeer.ServerState;
import org.apache.zookeeper.server.quorum.QuorumPeerConfig;
import org.apache.zookeeper.server.quorum.QuorumPeerMain;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A leader tells the others to commit before it commits itself, and answers reads and syncs in
 * between. So a client of the leader could still see a state that a client of another server knows
 * to be over.
 *
 * <p>The servers run in this process, where the test can stop the leader's thread at that point.
 */
class LaggingLeaderTest {

  private static final long LIMIT_SECONDS = 60;

  /** One server of the ensemble. */
  private static final class Member extends QuorumPeerMain {
    private final String address;
    private final Thread thread;

    Member(InstanceSpec spec, QuorumPeerConfig config) {
      address = "127.0.0.1:" + spec.getPort();
      thread =
          new Thread(
              () -> {
                try {
                  runFromConfig(config);
                } catch (Exception e) {
                  throw new IllegalStateException("the server ended", e);
                }
              },
              "server-" + spec.getServerId());
      thread.start();
    }

    boolean is(ServerState state) {
      return quorumPeer != null && quorumPeer.getPeerState() == state && isServing(quorumPeer);
    }

    private static boolean isServing(QuorumPeer peer) {
      return peer.getActiveServer() != null && peer.getActiveServer().isRunning();
    }

    Leader leader() {
      return quorumPeer.leader;
    }

    /** The thread that receives the writes of this server's clients. */
    boolean isHeldUp() {
      String name = "ProcessThread(sid:" + quorumPeer.getMyId();
      return Thread.getAllStackTraces().keySet().stream()
          .anyMatch(
              each -> each.getName().startsWith(name) && each.getState() == Thread.State.BLOCKED);
    }

    void end() throws InterruptedException {
      close();
      thread.join(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
    }
  }

  private static final List<Member> members = new ArrayList<>();
  private static List<InstanceSpec> specs = List.of();

  private final ExecutorService executor = Executors.newCachedThreadPool();
  private Member leader;
  private CuratorFramework followersCurator;
  private CuratorFramework leadersCurator;
  private ZooKeeperBackend holder;
  private ZooKeeperBackend other;

  @BeforeAll
  static void start() throws Exception {
    int tick = Math.toIntExact(Backends.TICK.toMillis());
    specs = IntStream.range(0, 3).mapToObj(i -> instance(tick)).toList();
    for (int i = 0; i < specs.size(); i++) {
      try (QuorumConfigBuilder configs = new QuorumConfigBuilder(specs)) {
        members.add(new Member(specs.get(i), configs.buildConfig(i)));
      }
    }
  }

  private static InstanceSpec instance(int tick) {
    int client = Testbed.freePort();
    int election = Testbed.freePort();
    int quorum = Testbed.freePort();
    // No server may time out on another while the leader is stopped.
    Map<String, Object> patient =
        Map.of("initLimit", "300", "syncLimit", "300", "maxSessionTimeout", "60000");
    return new InstanceSpec(null, client, election, quorum, true, -1, tick, -1, patient);
  }

  private static Member awaitMember(ServerState state) throws Exception {
    Eventually.holds(
        "a member is " + state, () -> members.stream().anyMatch(member -> member.is(state)));
    return members.stream().filter(member -> member.is(state)).findFirst().orElseThrow();
  }

  @AfterAll
  static void end() throws Exception {
    for (Member member : members) {
      member.end();
    }
    for (InstanceSpec spec : specs) {
      DirectoryUtils.deleteRecursively(spec.getDataDirectory());
    }
  }

  @BeforeEach
  void connect() throws Exception {
    leader = awaitMember(ServerState.LEADING);
    Member follower = awaitMember(ServerState.FOLLOWING);
    followersCurator = Backends.curator(follower.address);
    leadersCurator = Backends.curator(leader.address);
    holder = Backends.on(followersCurator);
    other = Backends.on(leadersCurator);
  }

  @AfterEach
  void disconnect() {
    other.close();
    holder.close();
    leadersCurator.close();
    followersCurator.close();
    executor.shutdownNow();
  }

  @Test
  void aLockThatWasReleasedIsFreeToClientsOfALeaderThatLags() throws Exception {
    Grant grant = Backends.take(holder, Backends.claim("released"));
    Attempt attempt =
        whileTheLeaderLags(
            () -> holder.release(grant.claim(), Backends.soon()),
            () -> other.tryAcquire(Backends.claim("released"), Backends.soon()));
    assertTrue(Backends.granted(attempt).token() > grant.token());
  }

  @Test
  void aLockThatWasReleasedIsShownAsFree() throws Exception {
    Grant grant = Backends.take(holder, Backends.claim("shown"));
    assertFalse(
        whileTheLeaderLags(
                () -> holder.release(grant.claim(), Backends.soon()),
                () -> other.inspect("shown", Backends.soon()))
            .isHeld());
  }

  @Test
  void aLockThatWasReleasedIsNotListed() throws Exception {
    Grant grant = Backends.take(holder, Backends.claim("listed"));
    assertEquals(
        List.of(),
        whileTheLeaderLags(
                () -> holder.release(grant.claim(), Backends.soon()),
                () -> other.list("listed", null, 10, Backends.soon()))
            .locks());
  }

  @Test
  void aForcedReleaseSeesALockThatWasJustTaken() throws Exception {
    Backends.take(holder, Backends.claim("taken")); // so that its node is there
    assertTrue(holder.forceRelease("taken", Backends.soon()));
    assertTrue(
        whileTheLeaderLags(
            () -> Backends.take(holder, Backends.claim("taken")),
            () -> other.forceRelease("taken", Backends.soon())));
  }

  /**
   * Runs the first step until the leader has told the others to commit it, and has not yet
   * committed it itself. Then begins the second step. The leader continues when the second step
   * waits for it, or has ended without waiting.
   */
  private <T> T whileTheLeaderLags(Callable<?> first, Callable<T> second) throws Exception {
    Field observers = Leader.class.getDeclaredField("observingLearners");
    observers.setAccessible(true);
    // An answer of the leader after a commit shows that it has passed that point.
    other.inspect("caught up", Backends.soon());
    // It is looked at between the two.
    Object held = observers.get(leader.leader());
    Future<T> outcome;
    synchronized (held) {
      executor.submit(first).get(LIMIT_SECONDS, TimeUnit.SECONDS);
      outcome = executor.submit(second);
      Eventually.holds(
          "the second step has ended, or waits for the leader",
          () -> outcome.isDone() || leader.isHeldUp());
    }
    return outcome.get(LIMIT_SECONDS, TimeUnit.SECONDS);
  }
}
