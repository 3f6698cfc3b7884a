package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisException;

/** The slots as one node describes them. */
class SlotTableTest {

  /**
   * Two halves of the slots. The answering node does not know the address of the first half's node.
   */
  private static final String SLOTS =
      "*2\r\n*3\r\n:0\r\n:8191\r\n*2\r\n$-1\r\n:7001\r\n"
          + "*3\r\n:8192\r\n:16383\r\n*2\r\n$8\r\n10.0.0.2\r\n:7002";

  private static final String SECOND_HALF =
      "*1\r\n*3\r\n:8192\r\n:16383\r\n*2\r\n$8\r\n10.0.0.2\r\n:7002";
  private static final String NONE = "*0";

  private CannedServer witness;
  private Members members;
  private SlotTable table;

  /** Nodes of which only one is ever connected to; finding out which may take long. */
  private static final class Members implements ClusterMembers {
    final Map<HostAndPort, PooledNode> nodes = new ConcurrentHashMap<>();
    final HostAndPort witness;
    volatile CountDownLatch asked = new CountDownLatch(1);
    volatile CountDownLatch mayGoOn = new CountDownLatch(0);

    Members(int port) {
      this.witness = new HostAndPort("127.0.0.1", port);
    }

    @Override
    public PooledNode at(HostAndPort address) {
      return nodes.computeIfAbsent(address, a -> new PooledNode(pool(a)));
    }

    static LockPool pool(HostAndPort address) {
      return new LockPool(address, DefaultJedisClientConfig.builder().build(), 8);
    }

    @Override
    public List<PooledNode> known() {
      asked.countDown();
      try {
        mayGoOn.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      return new ArrayList<>(List.of(at(witness)));
    }

    @Override
    public void retain(Set<HostAndPort> addresses) {
      // Never fewer.
    }

    @Override
    public void close() {
      nodes.values().forEach(node -> node.pool().close());
    }
  }

  @BeforeEach
  void ask() throws Exception {
    witness = CannedServer.tellingSlots(SLOTS);
    members = new Members(witness.port());
    table = new SlotTable(members, Backends.TIME);
    assertEquals(1, members.asked.getCount());
    node(0);
    assertEquals(0, members.asked.getCount());
  }

  @AfterEach
  void close() throws IOException {
    members.close();
    witness.close();
  }

  /** Asks again where this JVM stood still for longer than one witness is waited for. */
  private PooledNode node(int slot) throws InterruptedException {
    Deadline deadline = Deadline.in(Backends.TIME, Duration.ofMinutes(1));
    while (true) {
      try {
        return table.node(slot, deadline);
      } catch (JedisException late) {
        if (deadline.hasPassed()) {
          throw late;
        }
      }
    }
  }

  private OwnMembers membersWith(CannedServer other) {
    return new OwnMembers(
        Set.of(members.witness, new HostAndPort("127.0.0.1", other.port())), Members::pool);
  }

  @Test
  void aNodeWithoutAnAddressHasThatOfTheNodeThatReportsIt() throws Exception {
    assertSame(members.at(new HostAndPort("127.0.0.1", 7001)), node(0));
    assertSame(members.at(new HostAndPort("10.0.0.2", 7002)), node(16383));
  }

  /** A node that has been reset answers, and knows of no slot. */
  @Test
  void aNodeThatHasLeftTheClusterIsNotTheOnlyOneAsked() throws Exception {
    try (CannedServer reset = CannedServer.tellingSlots(NONE)) {
      for (int i = 0; i < 20; i++) {
        try (OwnMembers both = membersWith(reset)) {
          table = new SlotTable(both, Backends.TIME);
          assertSame(both.at(new HostAndPort("10.0.0.2", 7002)), node(16383));
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {NONE, SECOND_HALF})
  void aNodeThatKnowsLessDoesNotSpeakForThoseThatDoNotAnswer(String slots) throws Exception {
    try (CannedServer joining = CannedServer.tellingSlots(slots);
        OwnMembers both = membersWith(joining)) {
      AdvancingTime time = new AdvancingTime();
      table = new SlotTable(both, time);
      PooledNode first = node(0);
      PooledNode second = node(16383);
      witness.close();
      both.at(members.witness).pool().clear();
      table.suspect(second);
      time.advance(Duration.ofSeconds(1));
      assertSame(second, node(16383));
      assertSame(first, node(0));
      assertSame(first, both.at(new HostAndPort("127.0.0.1", 7001)));
    }
  }

  @Test
  void requestsToOtherNodesDoNotWaitWhileASuspectIsLookedUp() throws Exception {
    members.asked = new CountDownLatch(1);
    members.mayGoOn = new CountDownLatch(1);
    PooledNode suspect = node(0);
    PooledNode other = node(8192);
    assertNotSame(suspect, other);
    table.suspect(suspect);
    CompletableFuture<PooledNode> waiting =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                while (members.asked.getCount() > 0) {
                  node(0); // not before the last answer is old enough
                }
                return node(0);
              } catch (InterruptedException e) {
                throw new AssertionError(e);
              }
            });
    assertTrue(members.asked.await(1, TimeUnit.MINUTES));
    assertSame(other, node(8192));
    members.mayGoOn.countDown();
    assertSame(suspect, waiting.get(1, TimeUnit.MINUTES));
  }
}
