package dev.interlock.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redis.Wire.Call;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.NotSentException;
import dev.interlock.redis.server.PoolClosedException;
import dev.interlock.redis.server.Script;
import dev.interlock.spi.Deadline;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Requests that share a connection, while faults happen. The server, the connections and the faults
 * are real.
 */
class JoinedRequestsTest {

  private static final int CALLERS = 40;
  private static final Duration LONG_TIMEOUT = Duration.ofSeconds(20);

  @AutoClose private static final RedisServer redis = Testbed.redis().start();

  private static final JedisClientConfig CONFIG =
      DefaultJedisClientConfig.builder().clientName("joined").timeoutMillis(20_000).build();

  private FaultProxy proxy;
  private LockPool pool;
  private PooledNode node;

  @BeforeEach
  void connect() throws IOException {
    redis.call("FLUSHALL");
    proxy = FaultProxy.to(redis.host(), redis.port());
    use(CONFIG);
  }

  /** All requests share a connection. */
  private void use(JedisClientConfig config) {
    pool = new LockPool(address(), config, 8);
    node = new PooledNode(pool, 0, () -> {});
  }

  @AfterEach
  void disconnect() throws IOException {
    proxy.close();
    node.closePipeline();
    pool.close();
  }

  private HostAndPort address() {
    return new HostAndPort("127.0.0.1", proxy.port());
  }

  /** The acquisition of one thread, and its result. */
  private final class Caller {
    final LockKeys keys;
    final String value;
    final Call call;
    final CompletableFuture<Long> token = new CompletableFuture<>();
    final Deadline deadline;
    final Thread thread;
    volatile long lateNanos;
    volatile boolean interruptKept;

    Caller(int number, Deadline deadline) {
      String name = "job " + number;
      keys = LockKeys.of("interlock", name);
      value = Backends.claim(name).id() + "|host/1/" + number;
      this.deadline = deadline;
      call =
          new Call(
              Script.ACQUIRE,
              keys,
              value.getBytes(UTF_8),
              "600000".getBytes(UTF_8), // no key that a test waits for expires
              "600000".getBytes(UTF_8));
      thread = new Thread(this::ask, "caller " + number);
      thread.setDaemon(true);
      thread.start();
    }

    private void ask() {
      try {
        Long granted = assertInstanceOf(Long.class, node.run(call, deadline));
        interruptKept = Thread.currentThread().isInterrupted();
        token.complete(granted);
      } catch (InterruptedException | RuntimeException | Error e) {
        lateNanos = -deadline.remainingNanos();
        token.completeExceptionally(e);
      }
    }

    long granted() throws Exception {
      return token.get(LONG_TIMEOUT.toSeconds(), TimeUnit.SECONDS);
    }

    Throwable failure() throws Exception {
      return token
          .handle((granted, failure) -> failure)
          .get(LONG_TIMEOUT.toSeconds(), TimeUnit.SECONDS);
    }

    boolean waits() {
      return thread.getState() == Thread.State.TIMED_WAITING;
    }

    boolean isCarriedOut() throws IOException {
      return valueOnServer() != null;
    }

    /** Lets this caller's deadline pass while it waits for its reply. */
    void assertLeavesWhenTimeIsUp(AdvancingTime time) throws Exception {
      time.advance(LONG_TIMEOUT);
      LockSupport.unpark(thread);
      assertTrue(Failures.isTimeout(failure()), () -> "left with " + token);
    }

    boolean succeeded() {
      return token.handle((granted, failure) -> failure == null).join();
    }

    @Nullable Object valueOnServer() throws IOException {
      return redis.call("GET", keys.toString());
    }

    /** Asserts that the reply belongs to the last execution of the request. */
    void assertGrantedOnServer() throws Exception {
      long granted = granted();
      assertEquals(value, valueOnServer());
      assertEquals(Long.toString(granted), redis.call("GET", keys + ":fence"));
    }
  }

  private Caller caller(int number) {
    return new Caller(number, in(LONG_TIMEOUT));
  }

  private static Deadline in(Duration time) {
    return Deadline.in(Backends.TIME, time);
  }

  private List<Caller> callers(int first, int end) {
    List<Caller> callers = new ArrayList<>();
    for (int i = first; i < end; i++) {
      callers.add(caller(i));
    }
    return callers;
  }

  /** The connection is made, and used. */
  private void warmUp() throws Exception {
    caller(CALLERS + 10).assertGrantedOnServer();
  }

  /** Returns callers whose requests cannot reach the server until the fault ends. */
  private List<Caller> queued() throws Exception {
    List<Caller> callers = callers(0, CALLERS);
    for (Caller caller : callers) {
      Eventually.holds("it waits", caller::waits);
    }
    return callers;
  }

  /** Returns callers whose requests are carried out, and who wait for the replies. */
  private List<Caller> carriedOut() throws Exception {
    List<Caller> callers = callers(0, CALLERS);
    for (Caller caller : callers) {
      Eventually.holds("it is carried out", caller::isCarriedOut);
    }
    return callers;
  }

  private static Set<String> connections() throws IOException {
    return ((String) redis.call("CLIENT", "LIST"))
        .lines()
        .filter(line -> line.contains(" name=joined "))
        .map(line -> line.substring(0, line.indexOf(' ')))
        .collect(Collectors.toSet());
  }

  @Test
  void requestsThatWaitAreSentOverOneConnectionAndEachGetsItsOwnReply() throws Exception {
    NetworkFault fault = proxy.hold(Direction.SERVER_TO_CLIENT);
    List<Caller> callers = queued();
    fault.close();
    for (Caller caller : callers) {
      caller.assertGrantedOnServer();
    }
    assertEquals(1, connections().size());
  }

  @Test
  void noneWaitsForTheReplyOfAnother() throws Exception {
    warmUp();
    NetworkFault fault = proxy.hold(Direction.SERVER_TO_CLIENT);
    for (int i = 0; i < 5; i++) {
      Caller next = caller(i);
      Eventually.holds("it is carried out", next::isCarriedOut);
      assertFalse(next.token.isDone());
    }
    fault.close();
  }

  @Test
  void aScriptThatTheServerDoesNotKnowIsTaughtToItAmongOtherRequests() throws Exception {
    warmUp();
    NetworkFault fault = proxy.hold(Direction.CLIENT_TO_SERVER);
    List<Caller> callers = queued();
    redis.call("SCRIPT", "FLUSH");
    fault.close();
    for (Caller caller : callers) {
      caller.assertGrantedOnServer();
    }
  }

  @Test
  void aConnectionThatIsCutAmongTheRepliesIsReplacedAndOnlyTheRestRepeated() throws Exception {
    warmUp();
    NetworkFault fault = proxy.hold(Direction.CLIENT_TO_SERVER);
    List<Caller> callers = queued();
    proxy.dropAfter(Direction.SERVER_TO_CLIENT, 140);
    fault.close();
    for (Caller caller : callers) {
      caller.assertGrantedOnServer();
    }
  }

  @Test
  void aConnectionThatWasClosedWhileIdleIsReplacedWithoutAFailure() throws Exception {
    warmUp();
    redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    caller(0).assertGrantedOnServer();
  }

  @Test
  void whereTheConnectionCannotBeReplacedTheUnreadAreInDoubtAndTheReadAreNot() throws Exception {
    warmUp();
    NetworkFault fault = proxy.hold(Direction.CLIENT_TO_SERVER);
    List<Caller> callers = queued();
    Eventually.holds(
        "all are sent", () -> callers.stream().allMatch(caller -> caller.call.isInDoubt()));
    try (NetworkFault refused = proxy.refuse()) {
      proxy.dropAfter(Direction.SERVER_TO_CLIENT, 140);
      fault.close();
      Eventually.holds(
          "all know", () -> callers.stream().allMatch(caller -> caller.token.isDone()));
    }
    int inDoubt = 0;
    for (Caller caller : callers) {
      Throwable failure = caller.failure();
      if (failure != null) {
        assertTrue(failure instanceof JedisException, failure::toString);
        assertTrue(caller.call.isInDoubt(), failure::toString);
        inDoubt++;
      }
    }
    // Some 8 replies of 40 fit into 140 bytes.
    assertTrue(inDoubt > 25 && inDoubt < 36, "in doubt: " + inDoubt);
    Eventually.holds(
        "it is connected again",
        () -> {
          try {
            node.run(new Call(Script.INSPECT, callers.get(0).keys), in(LONG_TIMEOUT));
            return true;
          } catch (JedisException stillKnown) {
            return false;
          }
        });
    for (Caller caller : callers) {
      if (caller.succeeded()) {
        caller.assertGrantedOnServer();
      } else {
        // As the engine does with what is in doubt.
        node.run(
            new Call(Script.RELEASE, caller.keys, caller.value.getBytes(UTF_8)), in(LONG_TIMEOUT));
        assertNull(caller.valueOnServer());
      }
    }
  }

  @Test
  void inABlackHoleNobodyWaitsForTheDeadlineOfAnother() throws Exception {
    warmUp();
    Deadline brief = in(Duration.ofSeconds(1));
    Deadline longer = in(LONG_TIMEOUT);
    List<Caller> hasty = new ArrayList<>();
    List<Caller> patient = new ArrayList<>();
    try (NetworkFault hole = proxy.blackHole(Direction.SERVER_TO_CLIENT)) {
      for (int i = 0; i < 20; i++) {
        boolean isHasty = i % 4 < 2;
        (isHasty ? hasty : patient).add(new Caller(i, isHasty ? brief : longer));
      }
      for (Caller caller : hasty) {
        Throwable failure = caller.failure();
        assertTrue(
            failure instanceof NotSentException || Failures.isTimeout(failure), failure::toString);
        assertTrue(caller.lateNanos >= 0, () -> "early by ns " + -caller.lateNanos);
        long spare = longer.nanos() - brief.nanos() - caller.lateNanos;
        assertTrue(spare > 0, () -> "not before the others: " + failure);
      }
    }
    // The connection that lost something is reset, and what is in doubt is repeated.
    for (Caller caller : patient) {
      caller.assertGrantedOnServer();
    }
    for (Caller caller : hasty) {
      Eventually.holds("it was given back", () -> !caller.isCarriedOut());
    }
  }

  @Test
  void aServerThatDoesNotAnswerInTimeIsConnectedToAnew() throws Exception {
    use(DefaultJedisClientConfig.builder().clientName("joined").timeoutMillis(2_000).build());
    warmUp();
    try (NetworkFault hole = proxy.silenceOpenConnections()) {
      Throwable failure = caller(0).failure();
      assertTrue(Failures.isTimeout(failure), failure::toString);
      Eventually.holds(
          "served over another connection",
          () -> {
            Caller next = caller(1);
            return next.failure() == null;
          });
    }
  }

  @Test
  void whoLeavesAtItsDeadlineDoesNotMixUpTheRepliesOfTheOthers() throws Exception {
    warmUp();
    NetworkFault fault = proxy.hold(Direction.SERVER_TO_CLIENT);
    AdvancingTime time = new AdvancingTime();
    Caller hasty = new Caller(CALLERS, Deadline.in(time, LONG_TIMEOUT));
    List<Caller> callers = carriedOut();
    Eventually.holds("the hasty one, too", hasty::isCarriedOut);
    hasty.assertLeavesWhenTimeIsUp(time);
    fault.close();
    for (Caller caller : callers) {
      caller.assertGrantedOnServer();
    }
    Eventually.holds("it was given back", () -> !hasty.isCarriedOut());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatIsGrantedToACallerWhoHasLeftIsGivenBackAlsoIfItsOwnUndoingCameFirst(boolean heard)
      throws Exception {
    warmUp();
    NetworkFault fault = proxy.hold(Direction.CLIENT_TO_SERVER);
    Caller patient = caller(1);
    AdvancingTime time = new AdvancingTime();
    Caller hasty = new Caller(2, Deadline.in(time, LONG_TIMEOUT));
    Eventually.holds("sent", () -> patient.call.isInDoubt() && hasty.call.isInDoubt());
    hasty.assertLeavesWhenTimeIsUp(time);
    // The engine undoes it then. That comes before what it is to undo.
    assertNull(hasty.valueOnServer());
    if (!heard) {
      proxy.blackHole(Direction.SERVER_TO_CLIENT);
    }
    fault.close();
    Eventually.holds("it was sent", () -> redis.call("GET", hasty.keys + ":fence") != null);
    Eventually.holds("it was given back", () -> !hasty.isCarriedOut());
    if (heard) {
      patient.assertGrantedOnServer();
    } else {
      assertFalse(patient.token.isDone(), "the patient one has heard of it");
      proxy.heal();
      patient.assertGrantedOnServer();
    }
  }

  @Test
  void aScriptThatHasToBeTaughtFirstHasOnlyTheTimeThatIsLeft() throws Exception {
    AtomicBoolean connected = new AtomicBoolean();
    AdvancingTime time = new AdvancingTime();
    Duration passing = Duration.ofSeconds(5);
    List<Integer> limits = new ArrayList<>();
    LockKeys keys = LockKeys.of("interlock", "alone");
    try (Connection connection =
        new Connection(address(), CONFIG) {
          @Override
          public Object getOne() {
            if (connected.get()) {
              limits.add(getSoTimeout());
              time.advance(limits.size() == 1 ? passing : Duration.ZERO);
            }
            return super.getOne();
          }
        }) {
      connected.set(true);
      redis.call("SCRIPT", "FLUSH");
      Wire.talk(
          connection,
          Deadline.in(time, Duration.ofSeconds(15)),
          false,
          wire -> wire.run(new Call(Script.RELEASE, keys, "nobody's".getBytes(UTF_8))));
    }
    assertEquals(2, limits.size(), limits::toString);
    assertTrue(limits.get(1) <= limits.get(0) - passing.toMillis(), limits::toString);
  }

  @Test
  void anInterruptTakesARequestBackThatIsNotSent() throws Exception {
    NetworkFault fault = proxy.hold(Direction.SERVER_TO_CLIENT);
    List<Caller> callers = queued();
    Caller interrupted = callers.get(17);
    interrupted.thread.interrupt();
    assertInstanceOf(InterruptedException.class, interrupted.failure());
    fault.close();
    for (Caller caller : callers) {
      if (caller != interrupted) {
        caller.assertGrantedOnServer();
      }
    }
    assertNull(interrupted.valueOnServer());
  }

  @Test
  void interruptsOfThoseThatWaitForRepliesBreakNothingAndAreKept() throws Exception {
    warmUp();
    Set<String> before = connections();
    NetworkFault fault = proxy.hold(Direction.SERVER_TO_CLIENT);
    List<Caller> callers = carriedOut();
    callers.subList(1, 10).forEach(caller -> caller.thread.interrupt());
    fault.close();
    for (Caller caller : callers) {
      caller.assertGrantedOnServer();
    }
    assertEquals(before, connections(), "an interrupt led to another connection");
    for (Caller caller : callers.subList(1, 10)) {
      assertTrue(caller.interruptKept, "an interrupt was swallowed");
    }
  }

  @Test
  void interruptsWhileAllConnectionsAreInUseTakeBackOnlyTheirOwnRequests() throws Exception {
    List<Connection> borrowed = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      borrowed.add(pool.borrow(Backends.soon()));
    }
    List<Caller> callers = queued();
    Eventually.holds("the pipeline waits for a connection", () -> pool.waiters() == 1);
    List<Caller> interrupted = callers.subList(1, 20);
    interrupted.forEach(caller -> caller.thread.interrupt());
    for (Caller caller : interrupted) {
      assertInstanceOf(InterruptedException.class, caller.failure());
    }
    borrowed.forEach(pool::giveBack);
    callers.get(0).assertGrantedOnServer();
    for (Caller caller : callers.subList(20, CALLERS)) {
      caller.assertGrantedOnServer();
    }
    for (Caller caller : interrupted) {
      assertNull(caller.valueOnServer());
    }
  }

  @Test
  void whatOneIsRefusedDoesNotTouchTheOthers() throws Exception {
    redis.call("LPUSH", "interlock:{job 7}", "somebody else's");
    List<Caller> callers = callers(0, CALLERS);
    for (Caller caller : callers) {
      if (caller == callers.get(7)) {
        assertNotNull(caller.failure());
      } else {
        caller.assertGrantedOnServer();
      }
    }
  }

  @Test
  void whenTheNodeIsClosedThoseWhoWaitForAConnectionAreTold() throws Exception {
    NetworkFault fault = proxy.hold(Direction.SERVER_TO_CLIENT);
    List<Caller> callers = queued();
    node.closePipeline();
    for (Caller caller : callers) {
      assertInstanceOf(JedisException.class, caller.failure());
    }
    assertThrows(
        JedisException.class,
        () -> node.run(new Call(Script.INSPECT, callers.get(0).keys), in(LONG_TIMEOUT)));
    fault.close();
  }

  @Test
  void whenTheNodeIsClosedWhatWasSentIsStillAnswered() throws Exception {
    warmUp();
    NetworkFault fault = proxy.hold(Direction.SERVER_TO_CLIENT);
    List<Caller> callers = carriedOut();
    node.closePipeline();
    fault.close();
    for (Caller caller : callers) {
      caller.assertGrantedOnServer();
    }
    Eventually.holds("disconnected", () -> connections().isEmpty());
  }

  @Test
  void anAnswerThatIsAnErrorIsThrownToItsCallerAloneAndEndsTheConnection() throws Exception {
    warmUp();
    Set<String> before = connections();
    pool.giveBack(pool.borrow(Backends.soon()));
    // Like a primary that has become a replica: an error for each, and a connection to be dropped.
    redis.call("REPLICAOF", "127.0.0.1", "1");
    try {
      for (Caller caller : callers(0, CALLERS)) {
        Throwable failure = caller.failure();
        assertTrue(failure.getMessage().contains("READONLY"), failure::toString);
        assertFalse(failure instanceof JedisConnectionException);
      }
      Eventually.holds("a connection to a replica was kept", () -> pool.idle() == 0);
      assertTrue(connections().stream().noneMatch(before::contains));
    } finally {
      redis.call("REPLICAOF", "NO", "ONE");
    }
  }

  @Test
  void aRequestThatMeetsTheClosedPipelineOfAReplacedServerMayGoToTheNextOne() throws Exception {
    new Caller(1, in(LONG_TIMEOUT)).granted();
    node.closePipeline();
    Throwable failure = new Caller(2, in(LONG_TIMEOUT)).failure();
    assertInstanceOf(PoolClosedException.class, failure);
  }
}
