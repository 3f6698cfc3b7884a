package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/** Conclusions from the answers of sentinels that do not agree. */
class SentinelsTest {

  private static final int OLD = 1;
  private static final int NEW = 2;
  private static final JedisClientConfig CONFIG =
      DefaultJedisClientConfig.builder().serverDefaultProtocol().build();

  private final AtomicIntegerArray primaries = new AtomicIntegerArray(new int[] {OLD, OLD, OLD});
  private final CannedServer[] servers = new CannedServer[3];
  private Sentinels sentinels;

  /** Created when all threads listen, because the answers that they get before are believed. */
  @BeforeEach
  void listen() throws Exception {
    CountDownLatch listening = new CountDownLatch(servers.length);
    Set<HostAndPort> addresses = new HashSet<>();
    for (int i = 0; i < servers.length; i++) {
      int number = i;
      servers[i] = CannedServer.sentinel(() -> primaries.get(number), listening::countDown);
      addresses.add(new HostAndPort("127.0.0.1", servers[i].port()));
    }
    sentinels = new Sentinels("m", CONFIG, addresses, CONFIG);
    listening.await();
  }

  @AfterEach
  void close() throws IOException {
    sentinels.close();
    for (CannedServer server : servers) {
      server.close();
    }
  }

  @Test
  void nothingHasChangedWhenAllSayTheSame() {
    assertFalse(sentinels.haveMissedChange());
  }

  @Test
  void oneThatIsBehindTheOthersIsOutvoted() {
    primaries.set(0, NEW);
    assertFalse(sentinels.haveMissedChange());
  }

  @Test
  void whatMostSayIsBelievedAndWhoBeginsAnewLearnsIt() {
    for (int i = 0; i < servers.length; i++) {
      primaries.set(i, NEW);
    }
    assertTrue(sentinels.haveMissedChange());
    assertEquals(OLD, sentinels.getCurrentMaster().getPort());
    try (Sentinels anew = sentinels.reopen()) {
      assertEquals(NEW, anew.getCurrentMaster().getPort());
      assertFalse(anew.haveMissedChange());
    }
  }

  @Test
  void ofTwoThatDisagreeTheOneWithTheNewsIsBelieved() throws Exception {
    primaries.set(0, NEW);
    servers[2].close();
    assertTrue(sentinels.haveMissedChange());
  }

  @Test
  void nothingIsConcludedFromSilence() throws Exception {
    for (CannedServer server : servers) {
      server.close();
    }
    assertFalse(sentinels.haveMissedChange());
  }
}
