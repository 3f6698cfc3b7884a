package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.TIME;
import static dev.interlock.redlock.Backends.eventually;
import static dev.interlock.redlock.Backends.soon;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.Script;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/** A caller's own I/O, and who completes it. */
class CallerIoTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final Script LENGTH = new Script(0, "return {#ARGV[1], ARGV[1]}");

  private final List<RedisServer> nodes = new ArrayList<>();
  private final List<NodePipeline> pipelines = new ArrayList<>();

  @SuppressWarnings("NullAway.Init")
  private CallerIo callerIo;

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
    callerIo = new CallerIo(pipelines);
    // Connects, and makes the script known.
    eventually("ready", () -> ask("ready").stream().allMatch(Ask::isAnswered));
    assertTrue(askItself("before").stream().allMatch(Ask::isAnswered));
  }

  @AfterEach
  void close() {
    pipelines.forEach(NodePipeline::close);
    callerIo.close();
    nodes.forEach(RedisServer::close);
  }

  /** A question to one node. */
  private static final class Ask implements NodePipeline.Request {
    private final String text;
    private final WakeUp wakeUp;
    private volatile @Nullable Object reply;
    private volatile @Nullable Thread by;
    private volatile boolean isWithdrawn;
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
    public boolean isWithdrawn() {
      return isWithdrawn;
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
        while (each.reply == null && callerIo.await(each.wakeUp, soon())) {}
      }
      return asked;
    } finally {
      callerIo.end();
    }
  }

  private List<Ask> send(String text) {
    WakeUp wakeUp = callerIo.wakeUp(TIME);
    List<Ask> asked = new ArrayList<>();
    for (int node = 0; node < 3; node++) {
      Ask ask = new Ask(text, wakeUp);
      asked.add(ask);
      if (!callerIo.send(node, ask)) {
        pipelines.get(node).send(ask);
      }
    }
    return asked;
  }

  /** Begins as soon as the pipelines' threads are idle. */
  private void begin() throws Exception {
    eventually("its own I/O", () -> callerIo.begin());
  }

  private List<Ask> askItself(String text) throws Exception {
    begin();
    return ask(text);
  }

  private void runOnNodes(String... command) throws IOException {
    for (RedisServer node : nodes) {
      node.call(command);
    }
  }

  @Test
  void aCallerReadsItsRepliesItself() throws Exception {
    eventually(
        "all answers on the caller's thread",
        () ->
            askItself("own").stream()
                .allMatch(each -> each.isAnswered() && each.by == Thread.currentThread()));
  }

  @Test
  void repliesThatACallerLeavesAreReadByAnotherThread() throws Exception {
    begin();
    List<Ask> left = send("left");
    callerIo.end();
    for (Ask each : left) {
      eventually("answered", each::isAnswered);
      assertNotSame(Thread.currentThread(), each.by);
    }
  }

  @Test
  void theNextCallerReadsTheRepliesThatTheLastOneLeft() throws Exception {
    begin();
    List<Ask> left = send("left");
    List<Ask> next = send("next");
    callerIo.end();
    for (int node = 0; node < 3; node++) {
      eventually("answered", next.get(node)::isAnswered);
      assertTrue(left.get(node).isAnswered(), "in order");
    }
  }

  @Test
  void aBrokenConnectionIsReplaced() throws Exception {
    runOnNodes("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    assertTrue(askItself("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void aForgottenScriptIsSentAgain() throws Exception {
    runOnNodes("SCRIPT", "FLUSH");
    assertTrue(askItself("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void aForgottenScriptIsNotSentForAWithdrawnRequest() throws Exception {
    runOnNodes("SCRIPT", "FLUSH");
    begin();
    List<Ask> asked = send("withdrawn");
    asked.forEach(each -> each.isWithdrawn = true);
    callerIo.end();
    for (Ask each : asked) {
      eventually("failed", () -> each.reply instanceof LockException);
    }
  }

  @Test
  void aRequestThatTheSocketTakesOnlyPartOfIsCompleted() throws Exception {
    String text = "x".repeat(6_000_000);
    assertTrue(askItself(text).stream().allMatch(Ask::isAnswered));
    assertTrue(askItself("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void anInterruptEndsTheWaitAndLeavesTheConnectionsUsable() throws Exception {
    begin();
    List<Ask> left = send("left");
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> callerIo.await(callerIo.wakeUp(TIME), soon()));
    callerIo.end();
    assertFalse(Thread.interrupted());
    for (Ask each : left) {
      eventually("answered", each::isAnswered);
    }
    assertTrue(askItself("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void aRequestThatCannotBeMadeFails() throws Exception {
    begin();
    Ask broken = new Ask("broken", callerIo.wakeUp(TIME));
    broken.isBroken = true;
    // One of those whose thread has just had something to do may not be the caller's.
    assertTrue(IntStream.range(0, nodes.size()).anyMatch(node -> callerIo.send(node, broken)));
    callerIo.end();
    eventually("failed", () -> broken.reply instanceof LockException);
    eventually("used again", () -> ask("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void aFailureAtTheBeginningReleasesTheConnections() throws Exception {
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
    try (CallerIo other = new CallerIo(frail)) {
      CompletableFuture<Boolean> begun = CompletableFuture.supplyAsync(other::begin);
      Throwable failure = assertThrows(CompletionException.class, begun::join).getCause();
      assertInstanceOf(OutOfMemoryError.class, failure);
    }
    assertTrue(askItself("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void thePipelinesWorkAfterCallersMayNoLongerDoTheirOwnIo() throws Exception {
    callerIo.close();
    for (Ask each : ask("after")) {
      assertTrue(each.isAnswered());
    }
  }

  @Test
  void oneCallerAtATimeDoesItsOwnIo() throws Exception {
    begin();
    assertFalse(CompletableFuture.supplyAsync(callerIo::begin).join());
    callerIo.end();
  }
}
