package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.StaleTokenException;
import dev.interlock.tck.Harness;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.specimen.ForwardingLease;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisCluster;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.exceptions.JedisDataException;

class RedisFenceTest {

  private static final String NAME = "stock/42";
  private static final String KEY = "{stock/42}:quantity";
  private static final Duration LIMIT = Duration.ofMinutes(1);

  @AutoClose private static final RedisServer redis = Testbed.redis().start();

  @AutoClose
  private static final RedisClient jedis =
      RedisClient.builder()
          .hostAndPort(redis.host(), redis.port())
          .clientConfig(DefaultJedisClientConfig.builder().socketTimeoutMillis(60_000).build())
          .build();

  private final RedisFence fence = RedisFence.using(jedis);

  @BeforeEach
  void clear() {
    jedis.flushAll();
    jedis.set(KEY, "1");
  }

  private int claimAndRead(long token) {
    fence.claim(NAME, token);
    return quantity();
  }

  private static int quantity() {
    return Integer.parseInt(jedis.get(KEY));
  }

  private void write(long token, int quantity) {
    fence.eval(
        NAME,
        token,
        "return redis.call('SET', KEYS[1], ARGV[1])",
        List.of(KEY),
        List.of("" + quantity));
  }

  private StaleTokenException refused(long token, int quantity) {
    return assertThrows(StaleTokenException.class, () -> write(token, quantity));
  }

  @Test
  void theHolderWrites() {
    int quantity = claimAndRead(7);
    write(7, quantity - 1);
    assertEquals(0, quantity());
  }

  @Test
  void aLateWriteIsRefusedAfterTheSuccessorHasWritten() {
    int readByFirst = claimAndRead(7);
    int readBySecond = claimAndRead(8);
    write(8, readBySecond + 5);
    StaleTokenException refusal = refused(7, readByFirst - 1);
    assertTrue(refusal.isSuperseded());
    assertEquals(OptionalLong.of(8), refusal.claimedToken());
    assertEquals(6, quantity());
  }

  @Test
  void aLateWriteIsRefusedBetweenTheReadOfTheSuccessorAndItsWrite() {
    int readByFirst = claimAndRead(7);
    int readBySecond = claimAndRead(8);
    refused(7, readByFirst - 1);
    assertThrows(StaleTokenException.class, () -> fence.claim(NAME, 7));
    write(8, readBySecond - 1);
    assertEquals(0, quantity());
  }

  @Test
  void theSameTokenIsAcceptedAgain() {
    claimAndRead(7);
    claimAndRead(7);
    write(7, 5);
    write(7, 5);
    assertEquals(5, quantity());
  }

  @Test
  void aTokenThatIsNotClaimedWritesNothing() {
    assertEquals(OptionalLong.empty(), refused(7, 0).claimedToken());
    claimAndRead(7);
    StaleTokenException lower = refused(8, 0);
    assertEquals(OptionalLong.of(7), lower.claimedToken());
    assertFalse(lower.isSuperseded());
    assertEquals(1, quantity());
  }

  /** After a fail-over or the expiry of the fence, every write is refused. */
  @Test
  void aFenceThatIsGoneRefusesThoseWhoHaveClaimed() {
    claimAndRead(7);
    claimAndRead(8);
    jedis.del("interlock-fence:{stock/42}");
    refused(7, 0);
    refused(8, 0);
  }

  @Test
  void aFenceExpiresAfterItsLastUse() {
    RedisFence brief = fence.withRetention(Duration.ofMinutes(10));
    brief.claim(NAME, 7);
    long afterClaim = jedis.pttl("interlock-fence:{stock/42}");
    assertTrue(afterClaim > 0 && afterClaim <= 600_000, () -> afterClaim + " ms");
    jedis.pexpire("interlock-fence:{stock/42}", 300_000);
    brief.eval(NAME, 7, "return 1", List.of(), List.of());
    assertTrue(jedis.pttl("interlock-fence:{stock/42}") > 300_000);
    fence.claim(NAME, 7);
    assertTrue(jedis.pttl("interlock-fence:{stock/42}") > 86_000_000);
    for (Duration retention : List.of(Duration.ZERO, Duration.ofDays(4000))) {
      assertThrows(IllegalArgumentException.class, () -> fence.withRetention(retention));
    }
  }

  /** The tokens are so high that a Lua number would round them. */
  @Test
  void theHighestTokensAreDistinguished() {
    fence.claim(NAME, 9);
    fence.claim(NAME, 10);
    fence.claim(NAME, Long.MAX_VALUE - 1);
    fence.claim(NAME, Long.MAX_VALUE);
    StaleTokenException refusal =
        assertThrows(StaleTokenException.class, () -> fence.claim(NAME, Long.MAX_VALUE - 1));
    assertEquals(OptionalLong.of(Long.MAX_VALUE), refusal.claimedToken());
    refused(Long.MAX_VALUE - 1, 0);
    write(Long.MAX_VALUE, 0);
  }

  @Test
  void aScriptSeesItsOwnKeysAndArgumentsAndGivesItsResult() {
    fence.claim(NAME, 7);
    jedis.set("other", "o");
    assertEquals(
        List.of(2L, 1L, "o", "x"),
        fence.eval(
            NAME,
            7,
            "local all = {#KEYS, #ARGV, redis.call('GET', KEYS[2]), ARGV[1]} return all -- end",
            List.of(KEY, "other"),
            List.of("x")));
    assertNull(fence.eval(NAME, 7, "return nil", List.of(), List.of()));
    assertNull(fence.eval(NAME, 7, "", List.of(), List.of()));
    for (String failing :
        List.of(
            "return redis.call('INCR', KEYS[1], 'x')",
            "return redis.error_reply('ERR mine')",
            "return claimed")) {
      assertThrows(
          JedisDataException.class, () -> fence.eval(NAME, 7, failing, List.of(KEY), List.of()));
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> fence.eval(NAME, 7, "#!lua flags=no-writes\nreturn 1", List.of(), List.of()));
  }

  @Test
  void aServerThatHasForgottenTheScriptsGetsThemAgain() {
    claimAndRead(7);
    write(7, 2);
    jedis.scriptFlush(KEY);
    claimAndRead(7);
    jedis.scriptFlush(KEY);
    write(7, 3);
    assertEquals(3, quantity());
  }

  @Test
  void aKeyThatHoldsNoTokenIsNotOverwritten() {
    RedisFence wrong = fence.withKeys(name -> KEY);
    jedis.set(KEY, "one");
    JedisDataException refusal =
        assertThrows(JedisDataException.class, () -> wrong.claim(NAME, 1_000_000));
    assertTrue(refusal.getMessage().contains("is not a fence"), refusal::getMessage);
    assertThrows(
        IllegalArgumentException.class, () -> wrong.eval(NAME, 7, "", List.of(), List.of()));
    assertEquals("one", jedis.get(KEY));
    String number = "9".repeat(20);
    jedis.set(KEY, number);
    IllegalArgumentException tooLong =
        assertThrows(IllegalArgumentException.class, () -> wrong.claim(NAME, 1_000_000));
    assertTrue(tooLong.getMessage().contains("is not a fence"), tooLong::getMessage);
    assertEquals(number, jedis.get(KEY));
  }

  @Test
  void whatIsKnownToFailSendsNothing() throws Exception {
    RedisClient closed = RedisClient.create("redis://127.0.0.1:1");
    RedisFence unreachable = RedisFence.using(closed);
    try (closed;
        LockClient client = LockClient.open("memory:redis-fence")) {
      Lease released = client.lock(NAME).acquire();
      released.release();
      assertThrows(IllegalStateException.class, () -> unreachable.claim(released));
      assertThrows(IllegalStateException.class, () -> unreachable.set(released, KEY, "0"));
      Lease lost = client.lock(NAME).acquire();
      client.admin().forceRelease(NAME);
      lost.onLoss().get(60, TimeUnit.SECONDS);
      assertThrows(LeaseLostException.class, () -> unreachable.claim(lost));
      assertThrows(LeaseLostException.class, () -> unreachable.set(lost, KEY, "0"));
      assertThrows(
          LeaseLostException.class, () -> unreachable.eval(lost, "return 1", List.of(), List.of()));
      assertThrows(IllegalArgumentException.class, () -> unreachable.claim(NAME, 0));
      assertThrows(IllegalArgumentException.class, () -> unreachable.claim("", 1));
    }
  }

  @Test
  void concurrentClaimsEndWithTheHighest() throws Exception {
    List<Long> tokens = new ArrayList<>(LongStream.rangeClosed(1, 500).boxed().toList());
    Collections.shuffle(tokens, new Random(1));
    AtomicInteger next = new AtomicInteger();
    AtomicInteger accepted = new AtomicInteger();
    inParallel(
        8,
        () -> {
          for (int i = next.getAndIncrement(); i < tokens.size(); i = next.getAndIncrement()) {
            try {
              fence.claim(NAME, tokens.get(i));
              accepted.incrementAndGet();
            } catch (StaleTokenException e) {
              assertTrue(e.claimedToken().orElseThrow() > tokens.get(i));
            }
          }
          return null;
        });
    write(500, 0);
    assertTrue(accepted.get() > 0 && accepted.get() < 500, accepted::toString);
  }

  /** The lock excludes nobody, and yet the writes that the fence permits add up. */
  @Test
  void theRecipeSellsNoPieceTwiceWithoutAnyExclusion() throws Exception {
    jedis.set(KEY, "10000");
    RedisStock stock = new RedisStock(jedis);
    AtomicLong tokens = new AtomicLong();
    AtomicInteger sold = new AtomicInteger();
    AtomicInteger refused = new AtomicInteger();
    try (LockClient client = LockClient.open("memory:redis-stock");
        Lease held = client.lock(NAME).acquire()) {
      inParallel(
          6,
          () -> {
            for (int i = 0; i < 200; i++) {
              long token = tokens.incrementAndGet();
              try {
                assertTrue(stock.sell(new WithToken(held, token)));
                sold.incrementAndGet();
              } catch (StaleTokenException e) {
                refused.incrementAndGet();
              }
            }
            return null;
          });
    }
    assertEquals(10_000 - sold.get(), quantity());
    assertTrue(sold.get() > 0, "nothing was sold");
    assertTrue(refused.get() > 0, "nothing was refused");
  }

  private static final class WithToken extends ForwardingLease {
    private final long token;

    WithToken(Lease held, long token) {
      super(held);
      this.token = token;
    }

    @Override
    public long fencingToken() {
      return token;
    }
  }

  private static void inParallel(int number, Callable<Void> work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(number);
    List<Callable<Void>> each = Collections.nCopies(number, work);
    for (Future<Void> done : threads.invokeAll(each, 60, TimeUnit.SECONDS)) {
      done.get();
    }
    threads.shutdown();
  }

  /** A lock on Redis, a process that is stopped, and its late write. */
  @Test
  void aStoppedProcessWritesTooLate() throws Exception {
    LockOptions fixed =
        LockOptions.builder()
            .ttl(Duration.ofSeconds(2))
            .autoRenew(false)
            .requestTimeout(Duration.ofSeconds(20))
            .build();
    OtherProcess.Settings settings =
        new OtherProcess.Settings(Harness.at(redis.uri()), redis.uri(), fixed, List.of(), false);
    try (OtherProcess first = OtherProcess.start(settings);
        LockClient client =
            LockClient.open(redis.uri(), fixed.toBuilder().ttl(Duration.ofMinutes(5)).build())) {
      assertEquals("1", first.call(LIMIT, ClaimAndRead.class, redis.uri()));
      first.stop();
      Lease lease = client.lock(NAME).tryAcquire(LIMIT).orElseThrow();
      fence.claim(lease);
      int quantity = quantity();
      first.resume();
      assertEquals("lease lost", first.call(LIMIT, Write.class, redis.uri(), "lease"));
      assertEquals("refused", first.call(LIMIT, Write.class, redis.uri(), "token"));
      assertEquals(1, quantity());
      fence.set(lease, KEY, "" + (quantity - 1));
      assertEquals("refused", first.call(LIMIT, Write.class, redis.uri(), "token"));
      assertEquals(0, quantity());
    }
  }

  /** Acquires the lock, claims, and answers with what it reads. */
  static final class ClaimAndRead implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      try (RedisClient own = RedisClient.create(arguments.get(0))) {
        own.ping();
        while (true) {
          try {
            Lease lease = worker.client().lock(NAME).acquire();
            worker.keep(NAME, lease);
            RedisFence.using(own).claim(lease);
            return own.get(KEY);
          } catch (LeaseLostException | LockUnavailableException e) {
            // This JVM stood still for the whole lease.
          }
        }
      }
    }
  }

  /** Sells the last piece, as if it were stopped after its lease has been asked, or before. */
  static final class Write implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      Lease lease = worker.lease(NAME);
      try (RedisClient own = RedisClient.create(arguments.get(0))) {
        RedisFence fence = RedisFence.using(own);
        if (arguments.get(1).equals("lease")) {
          fence.set(lease, KEY, "0");
        } else {
          String script = "return redis.call('SET', KEYS[1], '0')";
          fence.eval(lease.name(), lease.fencingToken(), script, List.of(KEY), List.of());
        }
        return "written";
      } catch (LeaseLostException e) {
        return "lease lost";
      } catch (StaleTokenException e) {
        return "refused";
      }
    }
  }

  @Test
  void aUserNeedsTheRightsOnThePage() throws Exception {
    String line = documented("rights: redis", "text").strip();
    redis.call(line.replace("app", "fencer reset on >secret ~{stock/42}:*").split(" "));
    try (RedisClient user =
        RedisClient.builder()
            .hostAndPort(redis.host(), redis.port())
            .clientConfig(
                DefaultJedisClientConfig.builder()
                    .user("fencer")
                    .password("secret")
                    .socketTimeoutMillis(60_000)
                    .build())
            .build()) {
      RedisFence own = RedisFence.using(user);
      own.claim(NAME, 7);
      own.eval(NAME, 7, "return redis.call('SET', KEYS[1], '0')", List.of(KEY), List.of());
      assertEquals(0, quantity());
    }
  }

  @Test
  void aClusterNeedsTheFenceBesideTheData() throws Exception {
    try (RedisCluster cluster = Testbed.redisCluster().start();
        RedisClusterClient clustered =
            RedisClusterClient.builder()
                .nodes(Set.of(new HostAndPort("127.0.0.1", cluster.masters().get(0).port())))
                .clientConfig(
                    DefaultJedisClientConfig.builder().socketTimeoutMillis(60_000).build())
                .build()) {
      RedisFence spread = RedisFence.using(clustered);
      for (String name : List.of("stock/1", "stock/2", "stock/3", "{odd}")) {
        spread.claim(name, 7);
      }
      spread.eval(
          "stock/1", 7, "return redis.call('SET', KEYS[1], 1)", List.of("{stock/1}:q"), List.of());
      IllegalArgumentException refusal =
          assertThrows(
              IllegalArgumentException.class,
              () -> spread.eval("stock/1", 7, "return 1", List.of("stock:1"), List.of()));
      assertTrue(refusal.getMessage().contains("withKeys"), refusal::getMessage);
      RedisFence beside = spread.withKeys(name -> "fence:{" + name.replace('/', ':') + "}");
      beside.claim("stock/1", 7);
      assertEquals(1L, beside.eval("stock/1", 7, "return 1", List.of("stock:1"), List.of()));
    }
  }

  @Test
  void thePageHasTheRecipeThatIsCompiledAndRun() throws IOException {
    String code =
        Files.readString(Path.of("src/test/java/dev/interlock/redis/RedisStock.java"))
            .replace("\n  ", "\n");
    String recipe = documented("recipe: redis", "java");
    assertTrue(code.contains(recipe), () -> "no longer part of the code:\n" + recipe);
  }

  private static String documented(String marker, String language) throws IOException {
    Matcher block =
        Pattern.compile("<!-- " + marker + " -->\n```" + language + "\n(.*?)```", Pattern.DOTALL)
            .matcher(Files.readString(Path.of("../docs/fencing.md")));
    assertTrue(block.find(), () -> "docs/fencing.md has no " + marker);
    return block.group(1);
  }
}
