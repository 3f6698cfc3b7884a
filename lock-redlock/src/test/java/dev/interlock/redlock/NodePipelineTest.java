package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.TIME;
import static dev.interlock.redlock.Backends.eventually;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.Uninterruptibles;
import dev.interlock.LockException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.Script;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.PrintStream;
import java.time.Duration;
import java.util.AbstractList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/** The thread of a pipeline ends when it is closed, and at nothing else. */
class NodePipelineTest {

  private static final Script PING = new Script(0, "return 'pong'");

  @AutoClose private static final RedisServer server = Testbed.redis().start();

  private final AtomicInteger mishaps = new AtomicInteger();
  private final LinkedBlockingQueue<Object> answers = new LinkedBlockingQueue<>();

  private static Connection connect() {
    return new Connection(
        new HostAndPort("127.0.0.1", server.port()),
        DefaultJedisClientConfig.builder().socketTimeoutMillis(5_000).build());
  }

  private NodePipeline pipeline(Supplier<Connection> connections) {
    Failures failures = new Failures("redis", "node", false);
    return new NodePipeline(
        "node",
        new NodeConnections("node", connections, failures, new ConcurrentHashMap<>()),
        failures,
        TIME,
        5_000,
        run -> {});
  }

  /** The request gets its answer or its failure, and the next one may be served again. */
  private Object ask(NodePipeline pipeline, boolean failing) throws InterruptedException {
    pipeline.send(
        new NodePipeline.Request() {
          @Override
          public NodePipeline.Call call(String run) {
            return new NodePipeline.Call(PING, List.of(), List.of());
          }

          @Override
          public void answered(Object reply) {
            if (failing) {
              mishaps.incrementAndGet();
              throw new OutOfMemoryError("as in a test");
            }
            answers.add(reply);
          }

          @Override
          public void failed(LockException problem, boolean timedOut) {
            answers.add(problem);
          }

          @Override
          public long sendBefore() {
            return TIME.nanoTime() + Duration.ofMinutes(1).toNanos();
          }
        });
    Object answer = answers.poll(60, TimeUnit.SECONDS);
    assertTrue(answer != null, "no answer, and no failure");
    return answer;
  }

  private void awaitAnswer(NodePipeline pipeline) throws Exception {
    eventually("served again", () -> ask(pipeline, false) instanceof byte[]);
  }

  @Test
  void anErrorWhileConnectingFailsTheRequestAndNoMore() throws Exception {
    Supplier<Connection> connections =
        () -> {
          if (mishaps.incrementAndGet() == 1) {
            throw new NoClassDefFoundError("as in a test");
          }
          return connect();
        };
    try (NodePipeline pipeline = pipeline(connections)) {
      LockException failure = assertInstanceOf(LockException.class, ask(pipeline, false));
      assertTrue(failure.getMessage().contains("NoClassDefFoundError"), failure::getMessage);
      awaitAnswer(pipeline);
    }
  }

  @Test
  void anErrorInTheHandlingOfAnAnswerFailsTheRequestAndNoMore() throws Exception {
    try (NodePipeline pipeline = pipeline(NodePipelineTest::connect)) {
      assertInstanceOf(LockException.class, ask(pipeline, true));
      assertEquals(1, mishaps.get());
      awaitAnswer(pipeline);
    }
  }

  private static final Script ECHO = new Script(0, "return ARGV[1]");

  /** As when the heap is full: not even a message can be made of it. */
  private static final class NoMemory extends OutOfMemoryError {
    private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new OutOfMemoryError("as in a test, for the message");
    }

    @Override
    public void printStackTrace(PrintStream to) {
      throw new OutOfMemoryError("as in a test, for the log");
    }
  }

  private static final class Echo implements NodePipeline.Request {
    private final String text;
    private final CompletableFuture<Object> answer = new CompletableFuture<>();
    private final CountDownLatch answered = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);

    Echo(String text) {
      this.text = text;
    }

    @Override
    public NodePipeline.Call call(String run) {
      return new NodePipeline.Call(ECHO, List.of(), arguments());
    }

    private List<byte[]> arguments() {
      return text.isEmpty()
          ? new AbstractList<>() {
            @Override
            public byte[] get(int index) {
              throw new NoMemory();
            }

            @Override
            public int size() {
              return 1;
            }
          }
          : List.of(text.getBytes(UTF_8));
    }

    @Override
    public void answered(Object reply) {
      answered.countDown();
      Uninterruptibles.awaitUninterruptibly(goOn);
      answer.complete(new String((byte[]) reply, UTF_8));
    }

    @Override
    public void failed(LockException problem, boolean timedOut) {
      answer.complete(problem);
    }

    @Override
    public long sendBefore() {
      return TIME.nanoTime() + Duration.ofMinutes(1).toNanos();
    }
  }

  @Test
  void noAnswerGoesToAnotherRequestAfterMemoryHasRunOutInTheMiddle() throws Exception {
    try (NodePipeline pipeline = pipeline(NodePipelineTest::connect)) {
      Echo first = new Echo("first");
      pipeline.send(first);
      first.answered.await();
      // These go out together: one is written, and the other cannot be.
      Echo written = new Echo("written");
      pipeline.send(written);
      pipeline.send(new Echo(""));
      first.goOn.countDown();
      written.goOn.countDown();
      eventually(
          "served again, and each by its own answer",
          () -> {
            Echo next = new Echo("next");
            next.goOn.countDown();
            pipeline.send(next);
            // Who was sent together with the one that failed may get no answer at all.
            Object answer = next.answer.completeOnTimeout("none", 1, TimeUnit.SECONDS).get();
            assertTrue(
                answer instanceof LockException || Set.of("next", "none").contains(answer),
                () -> "got " + answer);
            return answer.equals("next");
          });
    }
  }
}
