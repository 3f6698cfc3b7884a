package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.LONG_TIMEOUT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.StaleTokenException;
import dev.interlock.tck.specimen.ForwardingLease;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import io.etcd.jetcd.Client;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
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

class EtcdFenceTest {

  private static final String NAME = "stock/42";

  @AutoClose private static final EtcdCluster etcd = Testbed.etcd().start();

  @AutoClose
  private static final Client client =
      Client.builder().endpoints("http://127.0.0.1:" + etcd.leader().port()).build();

  private final EtcdFence fence = EtcdFence.using(client);
  private final EtcdStock stock = new EtcdStock(client);

  @BeforeEach
  void clear() throws Exception {
    client.getKVClient().delete(fenceKey()).get();
    stock.put(1);
  }

  private static io.etcd.jetcd.ByteSequence fenceKey() {
    return LockKeys.bytes("interlock-fence/stock%2F42");
  }

  /**
   * Repeats the claim, so that a machine that stalls for the default request time-out fails no
   * test.
   */
  private static void claim(EtcdFence fence, String name, long token) throws InterruptedException {
    for (int tries = 1; ; tries++) {
      try {
        fence.claim(name, token);
        return;
      } catch (LockUnavailableException e) {
        if (tries == 10) {
          throw e;
        }
      }
    }
  }

  private void claim(String name, long token) throws InterruptedException {
    claim(fence, name, token);
  }

  private int claimAndRead(long token) throws Exception {
    claim(NAME, token);
    return stock.read();
  }

  @Test
  void theHolderWrites() throws Exception {
    int quantity = claimAndRead(7);
    assertTrue(stock.write(NAME, 7, quantity - 1));
    assertEquals(0, stock.read());
  }

  @Test
  void aLateWriteIsRefusedAfterTheSuccessorHasWritten() throws Exception {
    int readByFirst = claimAndRead(7);
    int readBySecond = claimAndRead(8);
    assertTrue(stock.write(NAME, 8, readBySecond + 5));
    assertFalse(stock.write(NAME, 7, readByFirst - 1));
    assertEquals(6, stock.read());
  }

  @Test
  void aLateWriteIsRefusedBetweenTheReadOfTheSuccessorAndItsWrite() throws Exception {
    int readByFirst = claimAndRead(7);
    int readBySecond = claimAndRead(8);
    assertFalse(stock.write(NAME, 7, readByFirst - 1));
    StaleTokenException refusal = assertThrows(StaleTokenException.class, () -> claim(NAME, 7));
    assertTrue(refusal.isSuperseded());
    assertEquals(OptionalLong.of(8), refusal.claimedToken());
    assertTrue(stock.write(NAME, 8, readBySecond - 1));
    assertEquals(0, stock.read());
  }

  @Test
  void theSameTokenIsAcceptedAgain() throws Exception {
    claimAndRead(7);
    claimAndRead(7);
    assertTrue(stock.write(NAME, 7, 5));
    assertTrue(stock.write(NAME, 7, 5));
  }

  @Test
  void aTokenThatIsNotClaimedWritesNothing() throws Exception {
    assertFalse(stock.write(NAME, 7, 0));
    claimAndRead(7);
    assertFalse(stock.write(NAME, 8, 0));
    assertEquals(1, stock.read());
  }

  @Test
  void aDeletedFenceRefusesEarlierClaims() throws Exception {
    claimAndRead(7);
    client.getKVClient().delete(fenceKey()).get();
    assertFalse(stock.write(NAME, 7, 0));
  }

  /** etcd compares values byte by byte: 9 would be higher than 10. */
  @Test
  void tokensOfDifferentLengthsAreInOrder() throws Exception {
    claim(NAME, 9);
    claim(NAME, 10);
    claim(NAME, Long.MAX_VALUE);
    assertThrows(StaleTokenException.class, () -> claim(NAME, 9));
    assertThrows(StaleTokenException.class, () -> claim(NAME, Long.MAX_VALUE - 1));
    assertTrue(stock.write(NAME, Long.MAX_VALUE, 0));
  }

  @Test
  void everyNameHasItsOwnFence() throws Exception {
    List<String> names = List.of("a", "A", "a/b", "a%2Fb", "a ", "\0", "ä");
    for (int i = 0; i < names.size(); i++) {
      claim(names.get(i), i + 1);
    }
    for (int i = 0; i < names.size(); i++) {
      assertTrue(stock.write(names.get(i), i + 1, 0), names.get(i));
    }
  }

  /** The locks of two namespaces are independent, and so are their tokens. */
  @Test
  void everyNamespaceHasItsOwnFences() throws Exception {
    EtcdFence others =
        EtcdFence.using(client, EtcdSettings.builder().namespace("team/app").build());
    int quantity = claimAndRead(7);
    claim(others, NAME, 8);
    assertTrue(stock.write(NAME, 7, quantity - 1));
    assertThrows(StaleTokenException.class, () -> claim(others, NAME, 7));
    assertEquals(
        1, client.getKVClient().get(LockKeys.bytes("team/app-fence/stock%2F42")).get().getCount());
  }

  @Test
  void aKeyWithoutATokenIsReported() throws Exception {
    client.getKVClient().put(fenceKey(), LockKeys.bytes("x")).get();
    assertThrows(IllegalStateException.class, () -> claim(NAME, 7));
  }

  @Test
  void aKnownFailureSendsNothing() throws Exception {
    try (Client nowhere = Client.builder().endpoints("http://127.0.0.1:1").build();
        LockClient locks = LockClient.open("memory:etcd-fence")) {
      EtcdFence unreachable = EtcdFence.using(nowhere);
      Lease released = locks.lock(NAME).acquire();
      released.release();
      assertThrows(IllegalStateException.class, () -> unreachable.claim(released));
      assertThrows(IllegalStateException.class, () -> unreachable.isCurrent(released));
      Lease lost = locks.lock(NAME).acquire();
      locks.admin().forceRelease(NAME);
      lost.onLoss().get(60, TimeUnit.SECONDS);
      assertThrows(LeaseLostException.class, () -> unreachable.claim(lost));
      assertThrows(LeaseLostException.class, () -> unreachable.isCurrent(lost));
      assertThrows(IllegalArgumentException.class, () -> unreachable.claim(NAME, 0));
      assertThrows(IllegalArgumentException.class, () -> unreachable.isCurrent("", 1));
      assertThrows(LockUnavailableException.class, () -> unreachable.claim(NAME, 7));
    }
  }

  @Test
  void aUserNeedsTheDocumentedRight() throws Exception {
    try (EtcdCluster guarded = Testbed.etcd().password("secret").start();
        Client guest =
            Client.builder()
                .endpoints("http://127.0.0.1:" + guarded.leader().port())
                .user(LockKeys.bytes("guest"))
                .password(LockKeys.bytes("guest"))
                .build()) {
      EtcdServer server = guarded.leader();
      server.call("/v3/auth/user/add", "{\"name\":\"guest\",\"password\":\"guest\"}");
      EtcdFence own = EtcdFence.using(guest);
      LockConfigurationException refusal =
          assertThrows(LockConfigurationException.class, () -> own.claim(NAME, 7));
      assertTrue(refusal.getMessage().contains("interlock-fence/"), refusal::getMessage);
      server.call("/v3/auth/role/add", "{\"name\":\"fencer\"}");
      server.call(
          "/v3/auth/role/grant",
          "{\"name\":\"fencer\",\"perm\":{\"permType\":\"READWRITE\",\"key\":\""
              + base64("interlock-fence/")
              + "\",\"range_end\":\""
              + base64("interlock-fence0")
              + "\"}}");
      server.call("/v3/auth/user/grant", "{\"user\":\"guest\",\"role\":\"fencer\"}");
      claim(own, NAME, 7);
      assertThrows(StaleTokenException.class, () -> claim(own, NAME, 6));
    }
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void concurrentClaimsEndWithTheHighest() throws Exception {
    List<Long> tokens = new ArrayList<>(LongStream.rangeClosed(1, 200).boxed().toList());
    Collections.shuffle(tokens, new Random(1));
    AtomicInteger next = new AtomicInteger();
    AtomicInteger accepted = new AtomicInteger();
    inParallel(
        8,
        () -> {
          for (int i = next.getAndIncrement(); i < tokens.size(); i = next.getAndIncrement()) {
            try {
              claim(NAME, tokens.get(i));
              accepted.incrementAndGet();
            } catch (StaleTokenException e) {
              assertTrue(e.claimedToken().orElseThrow() > tokens.get(i));
            }
          }
          return null;
        });
    assertTrue(stock.write(NAME, 200, 0));
    assertTrue(accepted.get() > 0 && accepted.get() < 200, accepted::toString);
  }

  /** The lock excludes nobody, so the fence alone must keep the sum right. */
  @Test
  void theRecipeSellsNoPieceTwiceWithoutAnyExclusion() throws Exception {
    stock.put(10_000);
    AtomicLong tokens = new AtomicLong();
    AtomicInteger sold = new AtomicInteger();
    AtomicInteger refused = new AtomicInteger();
    try (LockClient locks = LockClient.open("memory:etcd-stock");
        Lease lease = locks.lock(NAME).acquire()) {
      inParallel(
          4,
          () -> {
            for (int i = 0; i < 50; i++) {
              try {
                boolean isSold = stock.sell(new WithToken(lease, tokens.incrementAndGet()));
                (isSold ? sold : refused).incrementAndGet();
              } catch (StaleTokenException e) {
                refused.incrementAndGet();
              }
            }
            return null;
          });
    }
    assertEquals(10_000 - sold.get(), stock.read());
    assertTrue(sold.get() > 0, "nothing was sold");
    assertTrue(refused.get() > 0, "nothing was refused");
  }

  @Test
  void theGuardedRecipeSells() throws Exception {
    try (LockClient locks = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        Lease lease = locks.lock(NAME).acquire()) {
      assertTrue(stock.sellGuarded(lease));
      assertFalse(stock.sellGuarded(lease));
      assertEquals(0, stock.read());
    }
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

  @Test
  void thePageHasTheRecipesThatAreCompiledAndRun() throws IOException {
    String code =
        Files.readString(Path.of("src/test/java/dev/interlock/etcd/EtcdStock.java"))
            .replace("\n  ", "\n");
    String page = Files.readString(Path.of("../docs/fencing.md"));
    for (String name : List.of("etcd", "etcd write", "etcd guard")) {
      Matcher recipe =
          Pattern.compile("<!-- recipe: " + name + " -->\n```java\n(.*?)```", Pattern.DOTALL)
              .matcher(page);
      assertTrue(recipe.find(), () -> "no recipe: " + name);
      assertTrue(code.contains(recipe.group(1)), () -> "not in the code:\n" + recipe.group(1));
    }
  }
}
