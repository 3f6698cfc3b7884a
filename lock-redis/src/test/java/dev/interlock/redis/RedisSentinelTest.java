package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.isBusy;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisReplyException;
import dev.interlock.testbed.redis.RedisRights;
import dev.interlock.testbed.redis.RedisSentinels;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisSentinelClient;

/** A real primary and its replica, watched by three real sentinels. */
class RedisSentinelTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final Duration LIMIT = Duration.ofSeconds(20);

  // Longer than any server stands still on a busy machine. The tests say when another takes over.
  @AutoClose
  private static final RedisSentinels group =
      Testbed.redisSentinels().downAfter(Duration.ofSeconds(10)).start();

  @BeforeEach
  void clear() throws IOException {
    group.heal();
    group.master().call("FLUSHALL");
  }

  /** The ways to open a backend: by the URI, or through the program's Jedis client. */
  enum Access {
    URI,
    JEDIS;

    LockBackend open() {
      if (this == URI) {
        return Backends.open(group.uri());
      }
      Set<HostAndPort> sentinels =
          group.sentinels().stream()
              .map(sentinel -> new HostAndPort(sentinel.host(), sentinel.port()))
              .collect(Collectors.toSet());
      RedisSentinelClient jedis =
          RedisSentinelClient.builder()
              .masterName(primaryName())
              .sentinels(sentinels)
              .clientConfig(Backends.jedisConfig())
              .build();
      return new ClosingBackend(
          JedisClients.backend(jedis, RedisSettings.defaults(), Backends.context()), jedis);
    }
  }

  @ParameterizedTest
  @EnumSource
  void locksLiveOnThePrimary(Access access) throws Exception {
    try (LockBackend backend = access.open()) {
      Claim claim = claim("job");
      Grant grant = take(backend, claim);
      assertTrue(isBusy(backend, "job"));
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, soon()));
      assertEquals(claim.id() + "|host/1/test", group.master().call("GET", "interlock:{job}"));
      assertTrue(backend.release(claim, soon()));
    }
  }

  @Test
  void theDocumentedRightsAreEnoughAndNoneIsOneTooMany() throws Exception {
    RedisRights rights = EveryRight.documented("redis").and(EveryRight.documented("waitReplicas"));
    RedisRights sentinelRights = EveryRight.documented("sentinel");
    String uri =
        group.uri().replace("://", "://" + rights.userInfo())
            + "?waitReplicas=1&sentinelUser="
            + sentinelRights.user()
            + "&sentinelPassword="
            + sentinelRights.password();
    sentinelRights.grantOn(group.sentinels());
    List<RedisServer> members = group.members();
    rights.requireExact(members, () -> EveryRight.use(uri, "job", group.master(), members));
    sentinelRights.requireExact(
        group.sentinels(),
        () -> {
          try (LockBackend unused = Backends.open(uri)) {
            for (RedisServer sentinel : group.sentinels()) {
              EveryRight.await(
                  "listening to " + sentinel.name(),
                  group.sentinels(),
                  () ->
                      ((String) sentinel.call("CLIENT", "LIST", "TYPE", "pubsub"))
                          .contains("user=" + sentinelRights.user()));
            }
          }
        });
  }

  @ParameterizedTest
  @EnumSource
  void aFailOverByCommandIsFollowedAndTokensGoOnRising(Access access) throws Exception {
    try (LockBackend backend = access.open()) {
      Claim first = claim("job");
      Grant grant = take(backend, first);
      WakeUp waiter = new WakeUp(Backends.TIME);
      Watch watch = backend.watch("job", waiter);
      RedisServer next = group.failOver();

      Grant second = takeWhenServed(backend, "job", grant);
      assertTrue(second.token() > grant.token());
      assertEquals(Long.toString(second.token()), next.call("GET", "interlock:{job}:fence"));

      // Earlier waiters are still notified of releases, now by the new primary.
      Eventually.holds(
          "listening", () -> next.call("PUBSUB", "CHANNELS").toString().contains("{job}"));
      assertTrue(isBusy(backend, "job"));
      backend.release(second.claim(), soon());
      assertTrue(waiter.await(Deadline.in(Backends.TIME, LIMIT)));
      watch.close();
    }
  }

  @ParameterizedTest
  @EnumSource
  @Tag("extended")
  void whenThePrimaryDiesItsReplicaServesAndTokensGoOnRising(Access access) throws Exception {
    try (LockBackend backend = access.open()) {
      Grant grant = take(backend, claim("job"));
      RedisServer dead = group.master();
      dead.kill();
      RedisServer next = replace(dead);

      Grant second = takeWhenServed(backend, "job", grant);
      assertTrue(second.token() > grant.token());
      assertEquals(Long.toString(second.token()), next.call("GET", "interlock:{job}:fence"));
    }
  }

  @Test
  void aPrimaryThatHangsIsGivenUpWhenTheSentinelsHaveReplacedIt() throws Exception {
    try (LockBackend backend = Backends.open(group.uri(), Duration.ofSeconds(6))) {
      Grant grant = take(backend, claim("job"));
      RedisServer hung = group.master();
      hung.pause();
      assertThrows(
          LockUnavailableException.class, () -> backend.tryAcquire(claim("other"), soon()));
      replace(hung);
      assertTrue(takeWhenServed(backend, "job", grant).token() > grant.token());
    }
  }

  @Test
  void aGrantThatIsWaitedForOnTheReplicaSurvivesThePrimary() throws Exception {
    try (LockBackend backend = Backends.open(group.uri() + "?waitReplicas=1")) {
      Grant grant = take(backend, claim("job", Duration.ofMinutes(10)));
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, soon()));
      RedisServer dead = group.master();
      dead.kill();
      RedisServer next = replace(dead);
      assertEquals(grant.claim().id() + "|host/1/test", next.call("GET", "interlock:{job}"));

      // With its only other member dead, nothing can be confirmed any more.
      Eventually.holds("answering", () -> isHeld(backend, "job"));
      assertInstanceOf(
          Renewal.Failed.class,
          backend.renew(grant, Deadline.in(Backends.TIME, Duration.ofMillis(300))));
    }
  }

  /** The failures of a primary while the client gets no messages from the sentinels. */
  enum Fate {
    DEMOTED {
      @Override
      void befall() {
        group.failOver();
      }
    },
    DEAD {
      @Override
      void befall() throws Exception {
        RedisServer primary = group.master();
        primary.kill();
        replace(primary);
      }
    };

    abstract void befall() throws Exception;
  }

  /** The primary changes after the driver has asked for it, and before it listens. */
  @ParameterizedTest
  @EnumSource
  void aPrimaryThatIsReplacedUnheardIsAskedForWhenItFails(Fate fate) throws Exception {
    RedisServer sentinel = group.sentinels().get(0);
    Set<String> others = listeners(sentinel); // clients of Jedis may stay (redis/jedis#3839)
    try (MovableAddress address = MovableAddress.of(sentinel);
        LockBackend backend =
            Backends.open(
                "redis-sentinel://127.0.0.1:" + address.port() + "/" + primaryName(), LIMIT)) {
      Grant grant = take(backend, claim("job"));
      Eventually.holds("listening", () -> !others.containsAll(listeners(sentinel)));
      address.silence();
      fate.befall();
      assertTrue(takeWhenServed(backend, "job", grant).token() > grant.token());
    }
  }

  @Test
  void sentinelsThatAreDownAreNoHindranceAsLongAsOneIsUp() throws Exception {
    group.sentinels().get(0).kill();
    try (LockBackend backend = Backends.open(group.uri())) {
      take(backend, claim("job"));
    }
  }

  @Test
  void whatIsClosedAsSoonAsItIsOpenListensToNoSentinel() throws Exception {
    Set<Thread> before = Thread.getAllStackTraces().keySet();
    // Others of other tests may run.
    List<String> ours =
        group.sentinels().stream()
            .map(sentinel -> "SentinelListener-[127.0.0.1:" + sentinel.port() + "]")
            .toList();
    for (int i = 0; i < 100; i++) {
      Backends.open(group.uri()).close();
      assertEquals(
          List.of(),
          Thread.getAllStackTraces().keySet().stream()
              .filter(thread -> thread.isAlive() && !before.contains(thread))
              .filter(thread -> ours.stream().anyMatch(thread.getName()::endsWith))
              .toList(),
          "number " + i);
    }
  }

  @Test
  void aPrimaryThatTheSentinelsDoNotKnowIsSaidToBeUnknown() {
    LockConfigurationException e =
        assertThrows(
            LockConfigurationException.class,
            () -> Backends.open(group.uri().replaceFirst("/[^/]*$", "/nobody")));
    assertTrue(e.getMessage().contains("know no primary of that name"), e::getMessage);
  }

  @Test
  void aSentinelIsNoServerForLocks() {
    LockConfigurationException e =
        assertThrows(
            LockConfigurationException.class,
            () -> Backends.open("redis://127.0.0.1:" + group.sentinels().get(0).port()));
    assertTrue(e.getMessage().contains("is a sentinel"), e::getMessage);
  }

  @Test
  void aServerForLocksIsNoSentinel() {
    LockException e =
        assertThrows(
            LockException.class,
            () -> Backends.open("redis-sentinel://127.0.0.1:" + group.master().port() + "/m"));
    assertInstanceOf(LockConfigurationException.class, e);
  }

  @Test
  void theDatabaseIsAParameter() throws Exception {
    try (LockBackend backend = Backends.open(group.uri() + "?database=3")) {
      take(backend, claim("job"));
      assertTrue(group.master().info("keyspace", "db3").startsWith("keys=2"));
    }
  }

  /** {@return the clients that have subscribed, as "id=…"} */
  private static Set<String> listeners(RedisServer sentinel) throws IOException {
    return ((String) sentinel.call("CLIENT", "LIST", "TYPE", "pubsub"))
        .lines()
        .filter(client -> client.contains("sub=1"))
        .map(client -> client.split(" ", 2)[0])
        .collect(Collectors.toSet());
  }

  /** Makes the sentinels replace a primary at once. */
  private static RedisServer replace(RedisServer lost) throws Exception {
    Eventually.holds(
        "a fail-over begins",
        () -> {
          try {
            group.sentinels().get(0).call("SENTINEL", "FAILOVER", primaryName());
            return true;
          } catch (RedisReplyException notYet) {
            return false;
          }
        });
    return group.awaitFailOver(lost);
  }

  private static boolean isHeld(LockBackend backend, String name) throws InterruptedException {
    try {
      return backend.inspect(name, soon()).isHeld();
    } catch (LockUnavailableException notYet) {
      return false;
    }
  }

  private static String primaryName() {
    return group.uri().replaceFirst(".*/", "");
  }

  /** Takes the lock from its holder, as soon as there is a primary again. */
  private static Grant takeWhenServed(LockBackend backend, String name, Grant before)
      throws Exception {
    // Always the same claim: an attempt that failed may be on the server nevertheless.
    Claim claim = claim(name);
    AtomicReference<Grant> got = new AtomicReference<>();
    AtomicReference<Object> last = new AtomicReference<>();
    try {
      Eventually.holds(
          "served",
          () -> {
            try {
              // The new primary may or may not have heard of the old one's grant.
              backend.release(before.claim(), soon());
              Attempt attempt = backend.tryAcquire(claim, soon());
              last.set(attempt);
              if (attempt instanceof Attempt.Granted granted) {
                got.set(granted.grant());
                return true;
              }
              return false;
            } catch (LockUnavailableException e) {
              last.set(e);
              return false;
            }
          });
    } catch (AssertionError e) {
      throw new AssertionError(
          e.getMessage() + "; last: " + last, last.get() instanceof Exception cause ? cause : e);
    }
    return got.get();
  }
}
