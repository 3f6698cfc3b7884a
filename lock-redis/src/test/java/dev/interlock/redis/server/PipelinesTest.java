package dev.interlock.redis.server;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/**
 * Requests are sent, and replies read, by a caller that leads or by the thread of the pipelines.
 */
class PipelinesTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  private static final Script LENGTH = new Script(0, "return {#ARGV[1], ARGV[1]}");

  private final List<RedisServer> nodes = new ArrayList<>();

  /** Whether connections are Jedis's own, without channels. */
  private final AtomicBoolean onStreams = new AtomicBoolean();

  /** The number of connections that were begun. */
  private final AtomicInteger connections = new AtomicInteger();

  /** Delays connections until it is done. */
  private volatile CompletableFuture<Void> mayConnect = CompletableFuture.completedFuture(null);

  /** Thrown in place of the next connection. */
  private final AtomicReference<@Nullable Error> mishap = new AtomicReference<>();

  @SuppressWarnings("NullAway.Init")
  private Pipelines pipelines;

  @BeforeEach
  void open() throws Exception {
    List<Server> servers = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      RedisServer node = Testbed.redis().start();
      nodes.add(node);
      servers.add(new Node(node));
    }
    pipelines = new Pipelines("test", servers, TIMEOUT);
    // Makes the script known.
    assertTrue(ask("ready").stream().allMatch(Ask::isAnswered));
  }

  @AfterEach
  void close() {
    pipelines.close();
    nodes.forEach(RedisServer::close);
  }

  private final class Node implements Server {
    private final RedisServer node;

    Node(RedisServer node) {
      this.node = node;
    }

    @Override
    public String name() {
      return node.name();
    }

    @Override
    public Link connect() {
      connections.incrementAndGet();
      mayConnect.join();
      Error error = mishap.getAndSet(null);
      if (error != null) {
        throw error;
      }
      HostAndPort address = new HostAndPort("127.0.0.1", node.port());
      DefaultJedisClientConfig config =
          DefaultJedisClientConfig.builder().socketTimeoutMillis(20_000).build();
      return new Link(
          onStreams.get()
              ? new Connection(address, config)
              : OwnConnection.forPipeline(address, config, null),
          node.name());
    }
  }

  private static Deadline soon() {
    return Deadline.in(TimeSource.system(), Eventually.LIMIT);
  }

  /** A question to one node. */
  private static final class Ask implements Request {
    private final String text;
    private final WakeUp wakeUp;
    private volatile @Nullable Object reply;
    private volatile @Nullable Thread by;
    private volatile boolean isWithdrawn;
    private volatile boolean isBroken;
    private volatile boolean isFailing;
    private volatile @Nullable Error whenWritten;
    private volatile boolean isRelease;
    private volatile Runnable whenAnswered = () -> {};
    private volatile Deadline sendBefore = soon();

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
    public ScriptCall call(String process) {
      if (isBroken) {
        throw new IllegalStateException("expected by the test");
      }
      Error error = whenWritten;
      return new ScriptCall(LENGTH, List.of(), error != null ? unwritable(error) : arguments());
    }

    private List<byte[]> arguments() {
      return List.of(text.getBytes(US_ASCII));
    }

    private static List<byte[]> unwritable(Error error) {
      return new AbstractList<>() {
        @Override
        public byte[] get(int index) {
          throw error;
        }

        @Override
        public int size() {
          return 1;
        }
      };
    }

    @Override
    public void complete(Object answer) {
      if (isFailing && answer instanceof List) {
        throw new OutOfMemoryError("as in a test");
      }
      by = Thread.currentThread();
      whenAnswered.run();
      reply = answer;
      wakeUp.signal();
    }

    @Override
    public void fail(RuntimeException problem) {
      complete(problem);
    }

    @Override
    public @Nullable Object releaseId() {
      return isRelease ? this : null;
    }

    @Override
    public boolean isWithdrawn() {
      return isWithdrawn;
    }

    @Override
    public Deadline sendBefore() {
      return sendBefore;
    }
  }

  /** Asks all nodes, and waits for all answers. */
  private List<Ask> ask(String text) throws Exception {
    List<Ask> asked = send(text);
    for (Ask each : asked) {
      while (each.reply == null && pipelines.await(each.wakeUp, soon())) {}
    }
    return asked;
  }

  private List<Ask> send(String text) {
    WakeUp wakeUp = new WakeUp(TimeSource.system());
    List<Ask> asked = new ArrayList<>();
    for (int node = 0; node < 3; node++) {
      Ask ask = new Ask(text, wakeUp);
      asked.add(ask);
      pipelines.send(node, ask);
    }
    return asked;
  }

  /** Begins as soon as the pipelines' thread is idle. */
  private void begin() throws Exception {
    Eventually.holds("leads", () -> pipelines.tryLead());
  }

  private List<Ask> askItself(String text) throws Exception {
    begin();
    try {
      return ask(text);
    } finally {
      pipelines.endLead();
    }
  }

  private void runOnNodes(String... command) throws IOException {
    for (RedisServer node : nodes) {
      node.call(command);
    }
  }

  @Test
  void aCallerReadsItsRepliesItself() throws Exception {
    Eventually.holds(
        "all answers on the caller's thread",
        () ->
            askItself("own").stream()
                .allMatch(each -> each.isAnswered() && each.by == Thread.currentThread()));
  }

  @Test
  void repliesThatACallerLeavesAreReadByAnotherThread() throws Exception {
    begin();
    List<Ask> unread = send("left");
    pipelines.endLead();
    for (Ask each : unread) {
      Eventually.holds("answered", each::isAnswered);
      assertNotSame(Thread.currentThread(), each.by);
    }
  }

  @Test
  void theNextCallerReadsTheRepliesThatTheLastOneLeft() throws Exception {
    begin();
    List<Ask> unread = send("left");
    List<Ask> next = send("next");
    pipelines.endLead();
    for (int node = 0; node < 3; node++) {
      Eventually.holds("answered", next.get(node)::isAnswered);
      assertTrue(unread.get(node).isAnswered(), "in order");
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
    pipelines.endLead();
    for (Ask each : asked) {
      Eventually.holds("failed", () -> each.reply instanceof RuntimeException);
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
    List<Ask> unread = send("left");
    Thread.currentThread().interrupt();
    assertThrows(
        InterruptedException.class, () -> pipelines.await(new WakeUp(TimeSource.system()), soon()));
    pipelines.endLead();
    assertFalse(Thread.interrupted());
    for (Ask each : unread) {
      Eventually.holds("answered", each::isAnswered);
    }
    assertTrue(askItself("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void aRequestThatCannotBeMadeFailsAlone() throws Exception {
    begin();
    Ask broken = new Ask("broken", new WakeUp(TimeSource.system()));
    broken.isBroken = true;
    pipelines.send(0, broken);
    pipelines.endLead();
    Eventually.holds("failed", () -> broken.reply instanceof RuntimeException);
    assertTrue(ask("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void anErrorInTheHandlingOfAnAnswerFailsTheRequestAndNoMore() throws Exception {
    Ask failing = new Ask("failing", new WakeUp(TimeSource.system()));
    failing.isFailing = true;
    pipelines.send(0, failing);
    Eventually.holds("failed", () -> failing.reply instanceof RuntimeException);
    assertTrue(ask("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void anErrorWhileConnectingFailsTheRequestAndNoMore() throws Exception {
    mishap.set(new NoClassDefFoundError("as in a test"));
    runOnNodes("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    List<Ask> asked = ask("after");
    Object failure =
        asked.stream().filter(ask -> !ask.isAnswered()).findFirst().orElseThrow().reply;
    assertTrue(("" + failure).contains("NoClassDefFoundError"), () -> "" + failure);
    awaitService();
  }

  private void awaitService() throws Exception {
    Eventually.holds("served again", () -> ask("again").stream().allMatch(Ask::isAnswered));
  }

  /** The heap is full, so that not even a message can be made. */
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

  @Test
  void noAnswerGoesToAnotherRequestAfterMemoryHasRunOutInTheMiddle() throws Exception {
    begin();
    // These go out together: one is written, and the other cannot be.
    Ask written = new Ask("written", new WakeUp(TimeSource.system()));
    pipelines.send(0, written);
    Ask unwritable = new Ask("unwritable", new WakeUp(TimeSource.system()));
    unwritable.whenWritten = new NoMemory();
    pipelines.send(0, unwritable);
    try {
      pipelines.endLead();
    } catch (OutOfMemoryError expected) {
      // It has ended nevertheless.
    }
    Eventually.holds(
        "served again, and each by its own answer",
        () -> {
          Ask next = new Ask("next", new WakeUp(TimeSource.system()));
          pipelines.send(0, next);
          next.wakeUp.await(Deadline.in(TimeSource.system(), Duration.ofSeconds(1)));
          Object reply = next.reply;
          assertTrue(
              reply == null || reply instanceof RuntimeException || next.isAnswered(),
              () -> "got " + reply);
          return next.isAnswered();
        });
  }

  @Test
  void aServerThatDoesNotAnswerKeepsNoCallerFromLeading() throws Exception {
    nodes.get(2).pause();
    begin();
    List<Ask> asked = send("some");
    pipelines.endLead();
    for (Ask each : asked.subList(0, 2)) {
      Eventually.holds("answered", each::isAnswered);
    }
    begin();
    pipelines.endLead();
    nodes.get(2).resume();
    Eventually.holds("answered", asked.get(2)::isAnswered);
  }

  @Test
  void connectionsOfJedisServeAsWell() throws Exception {
    onStreams.set(true);
    runOnNodes("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    awaitService();
    for (int i = 0; i < 100; i++) {
      assertTrue(ask("by the thread " + i).stream().allMatch(Ask::isAnswered));
      assertTrue(askItself("leading " + i).stream().allMatch(Ask::isAnswered));
    }
    aForgottenScriptIsSentAgain();
    runOnNodes("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    assertTrue(askItself("after").stream().allMatch(Ask::isAnswered));
  }

  @Test
  void aReleaseThatCouldNotBeDeliveredIsDeliveredLater() throws Exception {
    RedisServer node = nodes.get(0);
    int port = node.port();
    node.kill();
    Ask release = new Ask("release", new WakeUp(TimeSource.system()));
    release.isRelease = true;
    pipelines.send(0, release);
    Eventually.holds("failed", () -> release.reply instanceof RuntimeException);
    node.restartEmpty(); // with data it would answer LOADING at first
    assertEquals(port, node.port());
    Eventually.holds("delivered", release::isAnswered);
  }

  /** A lock for which the thread waits may consume the permit of unpark. */
  @Test
  void aConnectionIsTakenThoughSomethingElseTookThePermitToGoOn() throws Exception {
    CompletableFuture<Void> connecting = new CompletableFuture<>();
    mayConnect = connecting;
    nodes.get(0).call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    Ask other = new Ask("other", new WakeUp(TimeSource.system()));
    other.whenAnswered =
        () -> {
          connecting.complete(null);
          LockSupport.park(this);
        };
    Ask late = new Ask("held", new WakeUp(TimeSource.system()));
    pipelines.send(0, late);
    pipelines.send(1, other);
    Eventually.holds("answered", other::isAnswered);
    // Without being asked, the thread looks once a minute.
    assertTrue(late.wakeUp.await(Deadline.in(TimeSource.system(), Duration.ofSeconds(40))));
    assertTrue(late.isAnswered());
  }

  @Test
  void aReleaseThatItsLeadingCallerCouldNotDeliverIsDeliveredLater() throws Exception {
    begin();
    Ask release = new Ask("release", new WakeUp(TimeSource.system()));
    release.isRelease = true;
    pipelines.send(0, release);
    Ask unwritable = new Ask("unwritable", new WakeUp(TimeSource.system()));
    unwritable.whenWritten = new OutOfMemoryError("as in a test");
    pipelines.send(0, unwritable);
    pipelines.endLead();
    Eventually.holds("failed", () -> release.reply != null);
    assertTrue(release.wakeUp.await(Deadline.in(TimeSource.system(), Duration.ofSeconds(40))));
    assertTrue(release.wakeUp.await(Deadline.in(TimeSource.system(), Duration.ofSeconds(40))));
    assertTrue(release.isAnswered());
  }

  /** Redlock confirms a token so: the last vote has come, and an earlier voter gets the token. */
  private Ask confirmAfterAVote() throws Exception {
    Ask confirm = new Ask("confirm", new WakeUp(TimeSource.system()));
    Ask vote = new Ask("vote", new WakeUp(TimeSource.system()));
    vote.whenAnswered = () -> pipelines.send(0, confirm);
    pipelines.send(1, vote);
    return confirm;
  }

  @Test
  void whatTheServingThreadSendsToAServerServedEarlierGoesAtOnce() throws Exception {
    pipelines.beginWait();
    try {
      Ask confirm = confirmAfterAVote();
      assertTrue(confirm.wakeUp.await(Deadline.in(TimeSource.system(), Duration.ofSeconds(15))));
      assertTrue(confirm.isAnswered());
    } finally {
      pipelines.endWait();
    }
  }

  @Test
  void whatALeadingCallerSendsForOthersToAServerServedEarlierGoesAtOnce() throws Exception {
    begin();
    try {
      Ask confirm = confirmAfterAVote();
      Ask silent = new Ask("silent", new WakeUp(TimeSource.system()));
      nodes.get(2).pause();
      confirm.whenAnswered = silent.wakeUp::signal;
      pipelines.send(2, silent);
      assertTrue(pipelines.await(silent.wakeUp, soon()));
      assertTrue(confirm.isAnswered());
    } finally {
      nodes.get(2).resume();
      pipelines.endLead();
    }
  }

  @Test
  void aReplyThatCameDuringAPauseOfALeadingCallerIsNotLate() throws Exception {
    pipelines.close();
    pipelines = new Pipelines("test", List.of(new Node(nodes.get(0))), Duration.ofMillis(500));
    Ask ready = new Ask("ready", new WakeUp(TimeSource.system()));
    pipelines.send(0, ready);
    assertTrue(pipelines.await(ready.wakeUp, soon()));
    begin();
    Ask some = new Ask("some", new WakeUp(TimeSource.system()));
    try {
      pipelines.send(0, some);
      assertFalse(pipelines.await(some.wakeUp, Deadline.in(TimeSource.system(), Duration.ZERO)));
      Thread.sleep(600); // longer than a reply may take
    } finally {
      pipelines.endLead();
    }
    Eventually.holds("answered", some::isAnswered);
  }

  @Test
  @Tag("extended")
  void aServerIsNoLongerConnectedToWhenNoReleaseCanBeInTime() throws Exception {
    nodes.get(0).kill();
    Ask release = new Ask("release", new WakeUp(TimeSource.system()));
    release.isRelease = true;
    release.sendBefore = Deadline.in(TimeSource.system(), Duration.ofSeconds(1));
    pipelines.send(0, release);
    Eventually.holds("tried", () -> connections.get() > 3);
    // Connecting ends ten seconds after the last request.
    Eventually.holds(
        "given up",
        () -> {
          int before = connections.get();
          Thread.sleep(1_000);
          return connections.get() == before;
        });
  }

  @Test
  void afterTheEndRequestsFail() throws Exception {
    pipelines.close();
    pipelines.awaitEnd();
    assertFalse(pipelines.tryLead());
    for (Ask each : ask("after")) {
      assertTrue(each.reply instanceof NotSentException);
    }
  }

  @Test
  void oneCallerAtATimeLeads() throws Exception {
    begin();
    assertFalse(CompletableFuture.supplyAsync(pipelines::tryLead).join());
    pipelines.endLead();
  }
}
