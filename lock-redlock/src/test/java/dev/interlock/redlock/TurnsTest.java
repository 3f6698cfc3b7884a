package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.TIME;
import static dev.interlock.redlock.Backends.eventually;
import static dev.interlock.redlock.Backends.soon;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.Script;
import dev.interlock.spi.WakeUp;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/** A caller's own I/O, and who goes on with it. */
class TurnsTest {

  private static final Script LENGTH = new Script(0, "return {#ARGV[1], ARGV[1]}");

  private final List<RedisServer> nodes = new ArrayList<>();
  private final List<NodePipeline> pipelines = new ArrayList<>();
  private @Nullable Turns made;

  @BeforeEach
  void open() throws Exception {
    for (int i = 0; i < 3; i++) {
      RedisServer node = Testbed.redis().start();
      nodes.add(node);
      Failures failures = new Failures("redis", node.name(), false);
      HostAndPort address = new HostAndPort("127.0.0.1", node.port());
      DefaultJedisClientConfig config =
          DefaultJedisClientConfig.builder().socketTimeoutMillis(20_000).build();
      pipelines.add(
          new NodePipeline(
              node.name(),
              new NodeConnections(
                  node.name(),
                  () -> ChannelConnection.to(address, config),
                  failures,
                  new ConcurrentHashMap<>()),
              failures,
              TIME,
              20_000,
              run -> {}));
    }
    made = new Turns(pipelines);
    // Connects, and makes the script known.
    eventually("ready", () -> ask("ready").stream().allMatch(Ask::isAnswered));
  }

  @AfterEach
  void close() {
    pipelines.forEach(NodePipeline::close);
    turns().close();
    nodes.forEach(RedisServer::close);
  }

  private Turns turns() {
    Turns present = made;
    if (present == null) {
      throw new IllegalStateException("not open");
    }
    return present;
  }

  /** A question to one node. */
  private static final class Ask implements NodePipeline.Request {
    private final String text;
    private final WakeUp wakeUp;
    private volatile @Nullable Object reply;
    private volatile @Nullable Thread by;
    private volatile boolean isVoid;
    private volatile boolean isBroken;

    Ask(String text, WakeUp wakeUp) {
      this.text = text;
      this.wakeUp = wakeUp;
    }

    boolean isAnswered() {
      return reply instanceof List<?> words
          && words.get(0).equals((long) text.length())
          && new String((byte[]) words.get(1), US_ASCII).equals(text);
    }

    @Override
    public NodePipeline.Call call(String run) {
      if (isBroken) {
        throw new IllegalStateException("expected by the test");
      }
      return new NodePipeline.Call(LENGTH, List.of(), List.of(text.getBytes(US_ASCII)));
    }

    @Override
    public void answered(Object answer) {
      by = Thread.currentThread();
      reply = answer;
      wakeUp.signal();
    }

    @Override
    public void failed(LockException problem, boolean timedOut) {
      answered(problem);
    }

    @Override
    public boolean isVoid() {
      return isVoid;
    }

    @Override
    public long sendBefore() {
      return soon().nanos();
    }
  }

  /** Asks all nodes, and waits for all answers. */
  private List<Ask> ask(String text) throws Exception {
    try {
      List<Ask> asked = send(text);
      for (Ask each : asked) {
        while (each.reply == null && turns().await(each.wakeUp, soon())) {}
      }
      return asked;
    } finally {
      turns().end();
    }
  }

  private List<Ask> send(String text) {
    WakeUp wakeUp = turns().wakeUp(TIME);
    List<Ask> asked = new ArrayList<>();
    for (int node = 0; node < 3; node++) {
      Ask ask = new Ask(text, wakeUp);
      asked.add(ask);
      if (!turns().send(node, ask)) {
        pipelines.get(node).send(ask);
      }
    }
    return asked;
  }

  /** Begins as soon as the pipelines' threads have nothing to do. */
  private void begin() throws Exception {
    eventually("a turn", () -> turns().begin());
  }

  private List<Ask> askInTurn(String text) throws Exception {
    begin();
    return ask(text);
  }

  private void runOnNodes(String... command) throws IOException {
    for (RedisServer node : nodes) {
      node.call(command);
    }
  }

  @Test
  void aCallerWritesAndReadsItself() throws Exception {
    eventually(
        "all answers on the caller's thread",
        () ->
            askInTurn("own").stream()
                .allMatch(each -> each.isAnswered() && each.by == Thread.currentThread()));
  }

  @Test
  void whatACallerLeavesIsReadByOthers() throws Exception {
    assertTrue(askInTurn("before").stream().allMatch(Ask::isAnswered));
    begin();
    List<Ask> left = send("left");
    turns().end();
    for (Ask each : left) {
      eventually("answered", each::isAnswered);
      assertNotSame(Thread.currentThread(), each.by);
    }
  }

  @Test
  void theNextCallerReadsWhatTheLastOneLeft() throws Exception {
    assertTrue(askInTurn("before").stream().allMatch(Ask::isAnswered));
    begin();
    List<Ask> left = send("left");
    List<Ask> next = send("next");
    turns().end();
    for (int node = 0; node < 3; node++) {
      eventually("answered", next.get(node)::isAnswered);
      assertTrue(left.get(node).isAnswered(), "in order");
    }
  }

  @Test
  void aConnectionThatHasBrokenIsReplaced() throws Exception {
    runOnNodes("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    assertTrue(askInTurn("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void aForgottenScriptIsSentByThePipeline() throws Exception {
    runOnNodes("SCRIPT", "FLUSH");
    assertTrue(askInTurn("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void aForgottenScriptIsNotSentForARequestThatIsWithdrawn() throws Exception {
    assertTrue(askInTurn("before").stream().allMatch(Ask::isAnswered));
    runOnNodes("SCRIPT", "FLUSH");
    begin();
    List<Ask> asked = send("withdrawn");
    asked.forEach(each -> each.isVoid = true);
    turns().end();
    for (Ask each : asked) {
      eventually("failed", () -> each.reply instanceof LockException);
    }
  }

  @Test
  void aRequestThatDoesNotFitIsSentInParts() throws Exception {
    String text = "x".repeat(16_000_000);
    assertTrue(askInTurn(text).stream().allMatch(Ask::isAnswered));
    assertTrue(askInTurn("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void anInterruptEndsTheWaitAndBreaksNothing() throws Exception {
    assertTrue(askInTurn("before").stream().allMatch(Ask::isAnswered));
    begin();
    List<Ask> left = send("left");
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> turns().await(turns().wakeUp(TIME), soon()));
    turns().end();
    assertFalse(Thread.interrupted());
    for (Ask each : left) {
      eventually("answered", each::isAnswered);
    }
    assertTrue(askInTurn("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void aRequestThatCannotBeMadeFails() throws Exception {
    assertTrue(askInTurn("before").stream().allMatch(Ask::isAnswered));
    begin();
    Ask broken = new Ask("broken", turns().wakeUp(TIME));
    broken.isBroken = true;
    assertTrue(turns().send(0, broken));
    turns().end();
    eventually("failed", () -> broken.reply instanceof LockException);
    eventually("used again", () -> ask("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void noThreadKeepsATurnThatCouldNotBegin() throws Exception {
    assertTrue(askInTurn("before").stream().allMatch(Ask::isAnswered));
    AtomicInteger used = new AtomicInteger();
    List<NodePipeline> frail =
        new AbstractList<>() {
          @Override
          public NodePipeline get(int index) {
            if (used.incrementAndGet() == 3) {
              throw new OutOfMemoryError("expected by the test");
            }
            return pipelines.get(index);
          }

          @Override
          public int size() {
            return pipelines.size();
          }
        };
    try (Turns other = new Turns(frail)) {
      Thread thread = new Thread(() -> assertThrows(OutOfMemoryError.class, other::begin));
      thread.start();
      thread.join();
    }
    assertTrue(askInTurn("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void pipelinesGoOnWhenThereAreNoMoreTurns() throws Exception {
    assertTrue(askInTurn("before").stream().allMatch(Ask::isAnswered));
    turns().close();
    for (Ask each : ask("after")) {
      assertTrue(each.isAnswered());
    }
  }

  @Test
  void oneCallerAtATimeHasATurn() throws Exception {
    assertTrue(askInTurn("before").stream().allMatch(Ask::isAnswered));
    begin();
    boolean[] other = {true};
    Thread thread = new Thread(() -> other[0] = turns().begin());
    thread.start();
    thread.join();
    turns().end();
    assertEquals(false, other[0]);
  }
}
