package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.isBusy;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.Script;
import dev.interlock.redis.server.ServerUri;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisCluster;
import dev.interlock.testbed.redis.RedisRights;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.DisposableServer.State;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.UnifiedJedis;

/** A real cluster of three primaries and three replicas. */
class RedisClusterTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final Duration LIMIT = Duration.ofSeconds(20);

  // Longer than any server stands still on a busy machine. The tests say who takes over and when;
  // each uses another shard, because a server that has just been elected has to rest.
  @AutoClose
  private static final RedisCluster cluster =
      Testbed.redisCluster().nodeTimeout(Duration.ofSeconds(5)).start();

  @BeforeEach
  void clear() throws IOException {
    cluster.heal();
    for (RedisServer primary : cluster.masters()) {
      primary.call("FLUSHALL");
    }
  }

  /** The ways to open a backend: by the URI, or through the program's Jedis client. */
  enum Access {
    URI,
    JEDIS;

    LockBackend open() {
      return open(Duration.ofSeconds(10));
    }

    LockBackend open(Duration requestTimeout) {
      if (this == URI) {
        return Backends.open(cluster.uri(), requestTimeout);
      }
      RedisServer seed = cluster.members().get(0);
      UnifiedJedis jedis =
          RedisClusterClient.builder()
              .nodes(Set.of(new HostAndPort(seed.host(), seed.port())))
              .clientConfig(
                  DefaultJedisClientConfig.builder()
                      .timeoutMillis(Math.toIntExact(requestTimeout.toMillis()))
                      .build())
              .build();
      return new ClosingBackend(
          JedisClients.backend(jedis, RedisSettings.defaults(), Backends.context()), jedis);
    }
  }

  @ParameterizedTest
  @EnumSource
  void locksLiveOnAllPrimariesEachWithItsFence(Access access) throws Exception {
    try (LockBackend backend = access.open()) {
      for (int i = 0; i < 100; i++) {
        Claim claim = claim("job {" + i + "}");
        Grant grant = take(backend, claim);
        assertTrue(isBusy(backend, claim.name()));
        assertEquals(
            grant.token(), backend.inspect(claim.name(), soon()).fencingToken().orElseThrow());
        assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, soon()));
        assertTrue(backend.release(claim, soon()));
        assertTrue(take(backend, claim(claim.name())).token() > grant.token());
        assertTrue(backend.revoke(claim.name(), soon()));
        assertTrue(backend.forceRelease(claim.name(), soon()));
      }
      for (RedisServer primary : cluster.masters()) {
        assertTrue((Long) primary.call("DBSIZE") > 10);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void sharesLiveOnAllPrimaries(Access access) throws Exception {
    try (LockBackend backend = access.open()) {
      List<Grant> grants = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        String name = "job {" + i + "}";
        grants.add(take(backend, claim(name, Share.READ)));
        grants.add(take(backend, claim(name, Share.READ)));
        assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim(name, Share.WRITE), soon()));
        assertEquals(2, backend.inspect(name, soon()).holders().size());
        assertThrows(
            LockConfigurationException.class, () -> backend.tryAcquire(claim(name), soon()));
      }
      for (Renewal outcome : backend.renewAll(grants, soon())) {
        assertInstanceOf(Renewal.Confirmed.class, outcome);
      }
      for (Grant grant : grants) {
        assertTrue(backend.release(grant.claim(), soon()));
      }
      Grant writer = take(backend, claim("job {7}", Share.WRITE));
      assertTrue(backend.revoke("job {7}", soon()));
      assertInstanceOf(Renewal.Lost.class, backend.renew(writer, soon()));
      assertTrue(backend.forceRelease("job {7}", soon()));
    }
  }

  @Test
  void sharesAreRenewedAndReleasedWhileTheirSlotMoves() throws Exception {
    String name = "shared while it moves";
    try (Move move = new Move(name);
        LockBackend backend = Backends.open(cluster.uri())) {
      Grant first = take(backend, claim(name, Share.ofSemaphore(1, 3)));
      Grant second = take(backend, claim(name, Share.ofSemaphore(2, 3)));
      move.begin();
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(first, soon()));
      move.moveKeys();
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(first, soon()));
      assertTrue(backend.release(second.claim(), soon()));
      move.finish();
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(first, soon()));
      assertTrue(take(backend, claim(name, Share.ofSemaphore(2, 3))).token() > second.token());
      assertTrue(backend.release(first.claim(), soon()));
    }
  }

  @Test
  @SuppressWarnings("deprecation") // The kind that programs have from before Jedis 7.
  void aJedisClusterDoesToo() throws Exception {
    RedisServer seed = cluster.members().get(0);
    JedisCluster jedis =
        new JedisCluster(Set.of(new HostAndPort(seed.host(), seed.port())), Backends.jedisConfig());
    try (LockBackend backend =
        new ClosingBackend(
            JedisClients.backend(jedis, RedisSettings.defaults(), Backends.context()), jedis)) {
      assertEquals("redis-cluster", backend.info().name());
      for (Grant grant : grants(backend, 30)) {
        assertTrue(backend.forceRelease(grant.claim().name(), soon()));
      }
    }
  }

  @Test
  void theDocumentedRightsAreEnoughAndNoneIsOneTooMany() throws Exception {
    RedisRights rights = EveryRight.documented("redis-cluster");
    String uri = cluster.uri().replace("://", "://" + rights.userInfo());
    try (Move move = new Move("moving")) {
      rights.requireExact(
          cluster.members(),
          () -> {
            EveryRight.use(uri, "job", primaryOf("job"), cluster.members());
            move.begin();
            try (LockBackend backend = Backends.open(uri)) {
              assertFalse(backend.release(claim("moving"), soon()));
            }
          });
    }
  }

  @ParameterizedTest
  @EnumSource
  void waitersAreToldOfReleasesOnAnyPrimary(Access access) throws Exception {
    try (LockBackend backend = access.open()) {
      for (int i = 0; i < 20; i++) {
        Claim claim = claim("job " + i);
        take(backend, claim);
        WakeUp waiter = new WakeUp(Backends.TIME);
        try (Watch watch = backend.watch(claim.name(), waiter)) {
          assertTrue(waiter.await(Deadline.in(Backends.TIME, LIMIT)));
          assertTrue(isBusy(backend, claim.name()));
          backend.release(claim, soon());
          assertTrue(waiter.await(Deadline.in(Backends.TIME, LIMIT)));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aPrimaryThatDoesNotAnswerFailsNobodysRenewalButItsOwn(Access access) throws Exception {
    try (LockBackend backend = access.open()) {
      List<Grant> grants = grants(backend, 60);
      RedisServer dead = primaryOf("job 0");
      Set<Integer> slots = slotsOf(dead);
      dead.pause();
      List<Renewal> outcomes =
          backend.renewAll(grants, Deadline.in(Backends.TIME, Duration.ofSeconds(4)));
      Set<Class<?>> ofTheDead = new HashSet<>();
      for (int i = 0; i < grants.size(); i++) {
        Renewal outcome = outcomes.get(i);
        if (slots.contains(LockKeys.of("interlock", grants.get(i).claim().name()).slot())) {
          ofTheDead.add(outcome.getClass());
        } else {
          assertInstanceOf(Renewal.Confirmed.class, outcome, "number " + i);
        }
      }
      assertEquals(Set.of(Renewal.Failed.class), ofTheDead);
    }
  }

  /**
   * The engine renews a few hundred at a time: if each batch waited, those of the others would end.
   */
  @ParameterizedTest
  @EnumSource
  void aPrimaryThatHasNotAnsweredIsNotWaitedForAgainWithTheOthersRenewals(Access access)
      throws Exception {
    try (LockBackend backend = access.open(Duration.ofMinutes(10))) {
      List<Grant> grants = grants(backend, 30);
      RedisServer hung = primaryOf("job 0");
      hung.pause();
      backend.renewAll(grants, Deadline.in(Backends.TIME, Duration.ofSeconds(1)));
      Deadline far = Deadline.in(Backends.TIME, Duration.ofMinutes(10));
      List<Renewal> outcomes =
          assertTimeoutPreemptively(
              Duration.ofMinutes(1),
              () -> {
                backend.renewAll(grants, far);
                return backend.renewAll(grants, far);
              });
      assertInstanceOf(Renewal.Failed.class, outcomes.get(0));
      assertTrue(outcomes.stream().anyMatch(Renewal.Confirmed.class::isInstance));
      hung.resume();
      renewUntilAnswered(backend, grants)
          .forEach(outcome -> assertInstanceOf(Renewal.Confirmed.class, outcome));
    }
  }

  private static Set<Integer> slotsOf(RedisServer node) {
    try {
      RedisServer other =
          cluster.members().stream().filter(one -> one != node).findFirst().orElseThrow();
      Set<Integer> slots = new HashSet<>();
      for (Object entry : (List<?>) other.call("CLUSTER", "SLOTS")) {
        List<?> range = (List<?>) entry;
        if (((List<?>) range.get(2)).get(1).equals((long) node.port())) {
          for (long slot = (Long) range.get(0); slot <= (Long) range.get(1); slot++) {
            slots.add((int) slot);
          }
        }
      }
      return slots;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @ParameterizedTest
  @EnumSource
  void anOrderlyFailOverLosesNoLock(Access access) throws Exception {
    try (LockBackend backend = access.open()) {
      List<Grant> grants = grants(backend, 30);
      cluster.failOver(cluster.masters().get(access == Access.URI ? 0 : 1));
      List<Renewal> outcomes = renewUntilAnswered(backend, grants);
      outcomes.forEach(outcome -> assertInstanceOf(Renewal.Confirmed.class, outcome));
      for (Grant grant : grants) {
        assertTrue(isBusy(backend, grant.claim().name()));
        assertTrue(backend.release(grant.claim(), soon()));
        assertTrue(take(backend, claim(grant.claim().name())).token() > grant.token());
      }
    }
  }

  @Test
  void whenAPrimaryDiesItsReplicaServesAndTokensGoOnRising() throws Exception {
    assertServedWhenAPrimaryDies(Access.URI);
  }

  @Test
  @Tag("extended")
  void whenAPrimaryDiesItsReplicaServesClientsOfTheUsersToo() throws Exception {
    assertServedWhenAPrimaryDies(Access.JEDIS);
  }

  private static void assertServedWhenAPrimaryDies(Access access) throws Exception {
    try (LockBackend backend = access.open()) {
      List<Grant> grants = grants(backend, 30);
      RedisServer dead = cluster.masters().get(2);
      String watched = nameOn(dead);
      WakeUp waiter = new WakeUp(Backends.TIME);
      Watch watch = backend.watch(watched, waiter);
      dead.kill();
      // At once, and not only when the others have missed the dead one for long.
      cluster.peersOf(dead).get(0).call("CLUSTER", "FAILOVER", "FORCE");
      cluster.awaitFailOver(dead);
      Eventually.holds("served", () -> answers(backend, watched));

      for (Grant grant : grants) {
        String name = grant.claim().name();
        backend.forceRelease(name, soon());
        Claim claim = claim(name);
        long token = take(backend, claim).token();
        assertTrue(token > grant.token(), name);
        backend.release(claim, soon());
      }
      // The listening connection may have been to any node, the dead one too.
      waiter.await(Deadline.in(Backends.TIME, Duration.ofMillis(200)));
      Claim claim = claim(watched);
      take(backend, claim);
      Eventually.holds("listening", () -> waiters("interlock:{" + watched + "}") > 0);
      assertTrue(isBusy(backend, watched));
      backend.release(claim, soon());
      assertTrue(waiter.await(Deadline.in(Backends.TIME, LIMIT)));
      watch.close();
    }
  }

  @Test
  void aDeadPrimaryWithoutSuccessorFailsItsOwnLocksOnly() throws Exception {
    try (LockBackend backend = Backends.open(cluster.uri())) {
      RedisServer dead = primaryOf("job 0");
      Set<Integer> slots = slotsOf(dead);
      dead.pause();
      for (int i = 0; i < 20; i++) {
        String name = "job " + i;
        if (!slots.contains(LockKeys.of("interlock", name).slot())) {
          take(backend, claim(name));
        }
      }
      assertThrows(
          LockUnavailableException.class,
          () ->
              backend.tryAcquire(
                  claim("job 0"), Deadline.in(Backends.TIME, Duration.ofMillis(100))));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aSlotThatIsMovedIsFollowed(Access access) throws Exception {
    // A slot that no other test uses: it stays where it is moved to.
    String name = "moved by " + access;
    try (Move move = new Move(name);
        LockBackend backend = access.open()) {
      Grant stays = take(backend, claim(name));
      move.begin();
      // Both keys are still there.
      assertRenewed(backend.renew(stays, soon()));
      assertTrue(isBusy(backend, name));
      // Both have gone: the other node is asked, for this once.
      move.moveKeys();
      move.to.call("SCRIPT", "FLUSH");
      assertRenewed(backend.renew(stays, soon()));
      move.to.call("SCRIPT", "FLUSH");
      assertTrue(isBusy(backend, name));
      assertRenewed(backend.renewAll(List.of(stays), soon()).get(0));
      assertTrue(backend.release(stays.claim(), soon()));
      // One of them is nowhere: neither node serves both before the slot has arrived.
      LockUnavailableException e =
          assertThrows(
              LockUnavailableException.class, () -> backend.tryAcquire(claim(name), soon()));
      assertTrue(e.getMessage().contains("is moving the lock's slot"), e::getMessage);

      move.finish();
      // And now for good.
      Grant moved = take(backend, claim(name));
      assertTrue(moved.token() > stays.token());
      assertRenewed(backend.renewAll(List.of(moved), soon()).get(0));
      assertTrue(backend.release(moved.claim(), soon()));
    }
  }

  /** The move of a name's slot to another primary, which ends when this is closed. */
  private static final class Move implements AutoCloseable {
    final RedisServer from;
    final RedisServer to;
    private final String slot;

    Move(String name) {
      from = primaryOf(name);
      to = cluster.masters().stream().filter(m -> m != from).findFirst().orElseThrow();
      slot = Integer.toString(LockKeys.of("interlock", name).slot());
    }

    private void set(RedisServer on, String what, RedisServer of) throws IOException {
      on.call("CLUSTER", "SETSLOT", slot, what, (String) of.call("CLUSTER", "MYID"));
    }

    void begin() throws IOException {
      set(to, "IMPORTING", from);
      set(from, "MIGRATING", to);
    }

    void moveKeys() throws IOException {
      for (Object key : (List<?>) from.call("CLUSTER", "GETKEYSINSLOT", slot, "100")) {
        from.call("MIGRATE", to.host(), Integer.toString(to.port()), (String) key, "0", "5000");
      }
    }

    void finish() throws IOException {
      set(to, "NODE", to);
      set(from, "NODE", to);
    }

    @Override
    public void close() throws IOException {
      for (RedisServer primary : List.of(to, from)) {
        primary.call("CLUSTER", "SETSLOT", slot, "STABLE");
      }
    }
  }

  @Test
  void anAcquisitionRidesOutTheMoveOfItsSlot() throws Exception {
    String name = "acquired while it moves";
    try (Move move = new Move(name);
        LockClient client = LockClient.open(cluster.uri())) {
      move.begin();
      LockUnavailableException e =
          assertThrows(LockUnavailableException.class, () -> client.lock(name).tryAcquire());
      assertTrue(e.getMessage().contains("is moving the lock's slot"), e::getMessage);
      CompletableFuture<Optional<Lease>> acquired =
          client.lock(name).tryAcquireAsync(Duration.ofMinutes(1));
      assertThrows(TimeoutException.class, () -> acquired.get(300, TimeUnit.MILLISECONDS));
      move.finish();
      assertTrue(acquired.get().orElseThrow().isHeld());
    }
  }

  /** Nodes may be configured to leave out their host, if it differs from client to client. */
  @Test
  void aRedirectionWithoutAHostLeadsToTheHostThatGaveIt() throws Exception {
    String name = "moved by nodes that leave their host out";
    LockKeys keys = LockKeys.of("interlock", name);
    Set<String> hosts = ConcurrentHashMap.newKeySet();
    RedisUri uri = new RedisUri(LockUri.parse(cluster.uri()), LIMIT);
    for (RedisServer member : cluster.members()) {
      member.call("CONFIG", "SET", "cluster-preferred-endpoint-type", "unknown-endpoint");
    }
    try (Move move = new Move(name);
        ClusterNodes nodes =
            new ClusterNodes(
                new OwnMembers(
                    uri.servers.addresses(ServerUri.REDIS_PORT),
                    node -> {
                      hosts.add(node.getHost());
                      return uri.pool(node, uri.servers.clientConfig(0));
                    }),
                Backends.TIME)) {
      Wire.Call look = new Wire.Call(Script.INSPECT, keys);
      nodes.run(look, soon());
      // First for once, and then for good.
      move.begin();
      nodes.run(new Wire.Call(Script.RELEASE, keys, new byte[] {'a'}), soon());
      move.finish();
      nodes.run(look, soon());
      assertEquals(Set.of("127.0.0.1"), hosts);
    } finally {
      for (RedisServer member : cluster.members()) {
        member.call("CONFIG", "SET", "cluster-preferred-endpoint-type", "ip");
      }
    }
  }

  @Test
  void aRefusedRequestLeavesNoReplyBehindForTheNextOne() throws Exception {
    String moving = "moving";
    Move move = new Move(moving);
    List<String> names = names(100).filter(name -> primaryOf(name) == move.to).limit(10).toList();
    for (RedisServer member : cluster.members()) {
      member.call("ACL", "SETUSER", "unasked", "on", ">s3cret", "~*", "&*", "+@all", "-asking");
    }
    try (move;
        LockBackend holder = Backends.open(cluster.uri());
        LockBackend unasked = Backends.open(cluster.uri().replace("://", "://unasked:s3cret@"))) {
      take(holder, claim("moving"));
      Claim held = claim(names.get(0));
      take(holder, held);
      move.begin();
      move.moveKeys();

      for (String free : names.subList(1, names.size())) {
        // Says ASKING to the other node, which this user may not say.
        LockConfigurationException e =
            assertThrows(
                LockConfigurationException.class, () -> unasked.tryAcquire(claim(moving), soon()));
        assertTrue(e.getMessage().contains("asking"), e::getMessage);
        // The next requests to that node get replies of their own.
        Grant grant = take(unasked, claim(free));
        assertTrue(isBusy(unasked, held.name()));
        assertRenewed(unasked.renewAll(List.of(grant), soon()).get(0));
        assertTrue(unasked.release(grant.claim(), soon()));
      }
    } finally {
      for (RedisServer member : cluster.members()) {
        member.call("ACL", "DELUSER", "unasked");
      }
    }
  }

  @Test
  void oneSeedIsEnoughEvenAReplicaAndDeadOnesAreNoHindrance() throws Exception {
    RedisServer replica =
        cluster.members().stream()
            .filter(member -> !cluster.masters().contains(member))
            .findFirst()
            .orElseThrow();
    try (LockBackend backend =
        Backends.open("redis-cluster://127.0.0.1:1,127.0.0.1:2,127.0.0.1:" + replica.port())) {
      for (int i = 0; i < 10; i++) {
        take(backend, claim("job " + i));
      }
    }
  }

  /** A client that has just asked who serves what does not ask again for a moment. */
  private static boolean answers(LockBackend backend, String name) throws InterruptedException {
    try {
      return backend.inspect(name, soon()) != null;
    } catch (LockUnavailableException notYet) {
      return false;
    }
  }

  /** One of the names that {@link #grants} takes. */
  private static String nameOn(RedisServer primary) {
    return names(30).filter(name -> primary == primaryOf(name)).findFirst().orElseThrow();
  }

  private static RedisServer primaryOf(String name) {
    return cluster.masterFor("interlock:{" + name + "}");
  }

  private static Stream<String> names(int count) {
    return IntStream.range(0, count).mapToObj(i -> "job " + i);
  }

  private static void assertRenewed(Renewal outcome) {
    assertInstanceOf(Renewal.Confirmed.class, outcome, outcome::toString);
  }

  private static List<Grant> grants(LockBackend backend, int count) throws Exception {
    List<Grant> grants = new ArrayList<>();
    for (String name : names(count).toList()) {
      grants.add(take(backend, claim(name)));
    }
    return grants;
  }

  private static List<Renewal> renewUntilAnswered(LockBackend backend, List<Grant> grants)
      throws Exception {
    List<Renewal> last = new ArrayList<>();
    Eventually.holds(
        "all renewals are answered",
        () -> {
          last.clear();
          last.addAll(backend.renewAll(grants, soon()));
          return last.stream().noneMatch(Renewal.Failed.class::isInstance);
        });
    return last;
  }

  private static long waiters(String channel) throws IOException {
    long waiters = 0;
    for (RedisServer member : cluster.members()) {
      if (member.state() == State.RUNNING) {
        waiters += (Long) ((List<?>) member.call("PUBSUB", "NUMSUB", channel)).get(1);
      }
    }
    return waiters;
  }
}
