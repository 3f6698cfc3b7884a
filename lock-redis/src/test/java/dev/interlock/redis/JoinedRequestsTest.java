package dev.interlock.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redis.Nodes.Talk;
import dev.interlock.redis.Wire.Call;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.NotSentException;
import dev.interlock.redis.server.Script;
import dev.interlock.spi.Deadline;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Requests that are sent together, when something happens to them on the way. The server, the
 * connections and the faults are real. Only the moment at which a lane starts is the test's, so
 * that it is known who is in a batch: the first request is held at the gate, and the others wait
 * behind it.
 */
class JoinedRequestsTest {

  private static final int CALLERS = 40;
  private static final Duration LONG = Duration.ofSeconds(20);

  @AutoClose private static final RedisServer redis = Testbed.redis().start();

  private static final JedisClientConfig CONFIG =
      DefaultJedisClientConfig.builder().socketTimeoutMillis(20_000).build();

  private FaultProxy proxy;
  private LockPool pool;
  private PooledNode node;
  private JoinedRequests joined;

  /** What a lane needs to send a batch. */
  private final Semaphore gate = new Semaphore(0);

  private final AtomicInteger atGate = new AtomicInteger();
  private final AtomicInteger talks = new AtomicInteger();

  @BeforeEach
  void connect() throws IOException {
    redis.call("FLUSHALL");
    proxy = FaultProxy.to(redis.host(), redis.port());
    GenericObjectPoolConfig<Connection> config = new GenericObjectPoolConfig<>();
    config.setMaxTotal(8);
    config.setMaxIdle(8);
    config.setJmxEnabled(false);
    pool = new LockPool(new HostAndPort("127.0.0.1", proxy.port()), CONFIG, config);
    node = new PooledNode(pool, null);
    joined =
        new JoinedRequests(
            new JoinedRequests.Route() {
              @Override
              public <T> T use(Deadline deadline, Talk<T> talk) throws InterruptedException {
                atGate.incrementAndGet();
                gate.acquireUninterruptibly();
                talks.incrementAndGet();
                return node.use(deadline, true, false, talk);
              }
            },
            0,
            1,
            LONG);
  }

  @AfterEach
  void disconnect() throws IOException {
    gate.release(1_000_000);
    joined.close();
    proxy.close();
    pool.close();
  }

  /** One thread's acquisition, and what came of it. */
  private final class Caller {
    final LockKeys keys;
    final String value;
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
      thread = new Thread(this::ask, "caller " + number);
      thread.setDaemon(true);
      thread.start();
    }

    private void ask() {
      try {
        Call acquire =
            new Call(
                Script.ACQUIRE,
                keys,
                value.getBytes(UTF_8),
                "600000".getBytes(UTF_8), // no key that a test waits for expires
                "600000".getBytes(UTF_8));
        Long granted = assertInstanceOf(Long.class, joined.run(acquire, deadline));
        interruptKept = Thread.currentThread().isInterrupted();
        token.complete(granted);
      } catch (InterruptedException | RuntimeException | Error e) {
        lateNanos = -deadline.remainingNanos();
        token.completeExceptionally(e);
      }
    }

    long granted() throws Exception {
      return token.get(LONG.toSeconds(), TimeUnit.SECONDS);
    }

    Throwable failure() throws Exception {
      return token.handle((granted, failure) -> failure).get(LONG.toSeconds(), TimeUnit.SECONDS);
    }

    /** Lets this caller's deadline pass while it waits for its reply. */
    void assertLeavesWhenTimeIsUp(AdvancingTime time) throws Exception {
      time.advance(LONG);
      LockSupport.unpark(thread);
      assertTrue(Failures.isTimeout(failure()), () -> "left with " + token);
    }

    boolean mayHaveSucceeded() {
      return !token.isCompletedExceptionally();
    }

    boolean succeeded() {
      return token.handle((granted, failure) -> failure == null).join();
    }

    @Nullable Object valueOnServer() throws IOException {
      return redis.call("GET", keys.toString());
    }

    /** The reply was that of the last time that the request was carried out, and of no other. */
    void assertGrantedOnServer() throws Exception {
      long granted = granted();
      assertEquals(value, valueOnServer());
      assertEquals(Long.toString(granted), redis.call("GET", keys + ":fence"));
    }
  }

  private Caller caller(int number) {
    return new Caller(number, in(LONG));
  }

  private static Deadline in(Duration time) {
    return Deadline.in(Backends.TIME, time);
  }

  /** One at the gate, and all others behind it. */
  private List<Caller> gather() throws Exception {
    List<Caller> callers = new ArrayList<>();
    // The same for all, so that none is too late to be taken along.
    Deadline deadline = in(LONG);
    for (int i = 0; i < CALLERS; i++) {
      callers.add(new Caller(i, deadline));
      int behind = i;
      Eventually.holds("one more is there", () -> atGate.get() == 1 && joined.queued() == behind);
    }
    return callers;
  }

  /** Lets the first go alone, and waits until it is done and the next batch is at the gate. */
  private void letTheFirstGo(List<Caller> callers) throws Exception {
    gate.release();
    Eventually.holds("the next batch is at the gate", () -> atGate.get() == 2);
    assertTrue(callers.get(0).granted() > 0);
  }

  @Test
  void requestsThatWaitAreSentTogetherAndEachGetsItsOwnReply() throws Exception {
    List<Caller> callers = gather();
    letTheFirstGo(callers);
    gate.release();
    for (Caller caller : callers) {
      caller.assertGrantedOnServer();
    }
    assertEquals(2, talks.get(), "requests were not joined");
    assertEquals(0, joined.queued());
  }

  @Test
  void aScriptThatTheServerDoesNotKnowIsTaughtToItWithinABatch() throws Exception {
    List<Caller> callers = gather();
    letTheFirstGo(callers);
    redis.call("SCRIPT", "FLUSH");
    gate.release();
    for (Caller caller : callers) {
      caller.assertGrantedOnServer();
    }
  }

  @Test
  void aConnectionThatIsCutAmongTheRepliesIsReplacedAndOnlyTheRestRepeated() throws Exception {
    List<Caller> callers = gather();
    letTheFirstGo(callers);
    proxy.dropAfter(Direction.SERVER_TO_CLIENT, 140);
    gate.release();
    for (Caller caller : callers) {
      caller.assertGrantedOnServer();
    }
  }

  @Test
  void whereTheConnectionCannotBeReplacedTheUnreadAreInDoubtAndTheReadAreNot() throws Exception {
    List<Caller> callers = gather();
    letTheFirstGo(callers);
    try (NetworkFault refused = proxy.refuse()) {
      proxy.dropAfter(Direction.SERVER_TO_CLIENT, 140);
      gate.release();
      Eventually.holds(
          "the batch fails", () -> callers.stream().anyMatch(caller -> !caller.mayHaveSucceeded()));
    }
    int inDoubt = 0;
    for (Caller caller : callers) {
      Throwable failure = caller.failure();
      if (failure != null) {
        assertTrue(failure instanceof JedisException, failure::toString);
        inDoubt++;
      }
    }
    // Some 8 replies of 39 fit into 140 bytes.
    assertTrue(inDoubt > 25 && inDoubt < 35, "in doubt: " + inDoubt);
    for (Caller caller : callers) {
      if (caller.succeeded()) {
        caller.assertGrantedOnServer();
      } else {
        // As the engine does with what is in doubt.
        gate.release();
        joined.run(new Call(Script.RELEASE, caller.keys, caller.value.getBytes(UTF_8)), in(LONG));
        assertNull(caller.valueOnServer());
      }
    }
  }

  @Test
  void inABlackHoleNobodyWaitsForTheDeadlineOfAnother() throws Exception {
    Deadline brief = in(Duration.ofSeconds(1));
    Deadline longer = in(LONG);
    List<Caller> hasty = new ArrayList<>();
    List<Caller> patient = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      boolean isHasty = i % 4 < 2;
      (isHasty ? hasty : patient).add(new Caller(i, isHasty ? brief : longer));
      Eventually.holds("the first is at the gate", () -> atGate.get() >= 1);
    }
    // Hasty ones may have left the queue by then, and be at the gate as well.
    Eventually.holds(
        "all are there",
        () ->
            atGate.get()
                    + joined.queued()
                    + hasty.stream().filter(caller -> caller.token.isDone()).count()
                >= 20);
    try (NetworkFault hole = proxy.blackHole(Direction.SERVER_TO_CLIENT)) {
      gate.release(1_000);
      for (Caller caller : hasty) {
        Throwable failure = caller.failure();
        assertTrue(failure instanceof JedisException, () -> "not a failure: " + failure);
        assertTrue(
            failure instanceof NotSentException || Failures.isTimeout(failure), failure::toString);
        assertTrue(caller.lateNanos >= 0, () -> "early by ns " + -caller.lateNanos);
        long spare = longer.nanos() - brief.nanos() - caller.lateNanos;
        assertTrue(spare > 0, () -> "not before the others: " + failure);
      }
    }
    // The connection that lost something is reset, and what is in doubt is repeated. Where a
    // connection for that was being made in the hole, it stays in doubt.
    for (Caller caller : patient) {
      Throwable failure = caller.failure();
      if (failure == null) {
        caller.assertGrantedOnServer();
      } else {
        assertTrue(
            failure instanceof JedisConnectionException
                && !(failure instanceof NotSentException)
                && !Failures.isTimeout(failure),
            failure::toString);
      }
    }
  }

  @Test
  void whoLeavesAtItsDeadlineDoesNotMixUpTheRepliesOfTheOthers() throws Exception {
    List<Caller> callers = gather();
    AdvancingTime time = new AdvancingTime();
    Caller hasty = new Caller(CALLERS, Deadline.at(time, callers.get(1).deadline.nanos()));
    Eventually.holds("the hasty one too", () -> joined.queued() == CALLERS);
    letTheFirstGo(callers);
    NetworkFault held = proxy.hold(Direction.SERVER_TO_CLIENT);
    gate.release();
    Eventually.holds("its request is carried out", () -> hasty.valueOnServer() != null);
    hasty.assertLeavesWhenTimeIsUp(time);
    held.close();
    for (Caller caller : callers) {
      caller.assertGrantedOnServer();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatIsGrantedToACallerWhoHasLeftIsGivenBackAlsoIfItsOwnUndoingCameFirst(boolean heard)
      throws Exception {
    Semaphore write = new Semaphore(0);
    AtomicBoolean held = new AtomicBoolean();
    AtomicInteger writing = new AtomicInteger();
    try (Connection slow =
        new Connection(address(), CONFIG) {
          @Override
          public void sendCommand(CommandArguments arguments) {
            if (held.get()) {
              writing.incrementAndGet();
              write.acquireUninterruptibly();
            }
            super.sendCommand(arguments);
          }
        }) {
      joined =
          new JoinedRequests(
              new JoinedRequests.Route() {
                @Override
                public <T> T use(Deadline deadline, Talk<T> talk) {
                  if (atGate.incrementAndGet() == 1) {
                    gate.acquireUninterruptibly();
                  } else {
                    held.set(true);
                  }
                  return Wire.talk(slow, deadline, false, talk);
                }
              },
              0,
              1,
              LONG);
      Caller first = caller(0);
      Eventually.holds("one is at the gate", () -> atGate.get() == 1);
      Caller patient = caller(1);
      Eventually.holds("the next one waits", () -> joined.queued() == 1);
      AdvancingTime time = new AdvancingTime();
      Caller hasty = new Caller(2, Deadline.at(time, patient.deadline.nanos()));
      Eventually.holds("the hasty one, too", () -> joined.queued() == 2);
      gate.release();
      first.assertGrantedOnServer();
      Eventually.holds("the lane is about to write", () -> writing.get() == 1);
      assertEquals(2, atGate.get(), "the hasty one is not in the batch");
      hasty.assertLeavesWhenTimeIsUp(time);
      // This is what the engine does then. It comes before what it is to undo.
      Object undone =
          node.use(
              in(LONG),
              true,
              false,
              wire -> wire.run(new Call(Script.RELEASE, hasty.keys, hasty.value.getBytes(UTF_8))));
      assertEquals("not held", Wire.text(((List<?>) undone).get(0)));
      if (!heard) {
        proxy.blackHole(Direction.SERVER_TO_CLIENT);
      }
      write.release(1_000);
      Eventually.holds("it was sent", () -> redis.call("GET", hasty.keys + ":fence") != null);
      Eventually.holds("it was given back", () -> hasty.valueOnServer() == null);
      if (heard) {
        patient.assertGrantedOnServer();
      } else {
        assertFalse(patient.token.isDone(), "the patient one has heard of it");
        proxy.heal();
        assertTrue(patient.failure() instanceof JedisException, () -> "" + patient.token);
      }
    } finally {
      write.release(1_000);
    }
  }

  @Test
  void repliesThatComeOneByOneDoNotKeepALaneBeyondTheDeadline() throws Exception {
    AdvancingTime time = new AdvancingTime();
    List<Integer> limits = Collections.synchronizedList(new ArrayList<>());
    joinedOver(
        1,
        (connection, number) -> {
          if (number == 2) {
            limits.add(connection.getSoTimeout());
            if (limits.size() == 2) {
              time.advance(Duration.ofMillis(limits.get(1) * 9L / 10));
            } else if (limits.size() == 3) {
              throw new JedisConnectionException(new SocketTimeoutException("no reply"));
            }
          }
        });
    Caller first = caller(0);
    Eventually.holds("one is at the gate", () -> atGate.get() == 1);
    Deadline deadline = Deadline.in(time, Duration.ofSeconds(15)); // less than a connection's own
    Caller patient = new Caller(1, deadline);
    Eventually.holds("the next one waits", () -> joined.queued() == 1);
    for (int i = 2; i < 6; i++) {
      new Caller(i, deadline);
      int there = i;
      Eventually.holds("one more waits", () -> joined.queued() == there);
    }
    gate.release(1_000);
    first.assertGrantedOnServer();
    patient.granted();
    Eventually.holds("the third is waited for", () -> limits.size() == 3);
    assertTrue(limits.get(2) <= limits.get(1) / 10 + 1, limits::toString);
  }

  @Test
  void oneLaneServesWhileTheRepliesOfTheOtherAreStillAwaited() throws Exception {
    Semaphore reading = new Semaphore(0);
    AtomicInteger talk = new AtomicInteger();
    joinedOver(
        2,
        (connection, number) -> {
          if (number == 1) {
            talk.set(number);
            reading.acquireUninterruptibly();
          }
        });
    gate.release(1_000);
    Caller first = caller(0);
    Eventually.holds("its lane is busy", () -> talk.get() == 1);
    for (int i = 1; i < 6; i++) {
      caller(i).assertGrantedOnServer();
    }
    assertFalse(first.token.isDone(), "the first did not wait");
    reading.release(1_000);
    first.assertGrantedOnServer();
    assertEquals(0, joined.queued());
  }

  private HostAndPort address() {
    return new HostAndPort("127.0.0.1", proxy.port());
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

  /** What happens before a reply is read in a talk; they are numbered from 1. */
  private interface BeforeReply {
    void of(Connection connection, int talk);
  }

  /** Every talk passes the gate, and has a connection of its own. */
  private void joinedOver(int lanes, BeforeReply before) {
    joined =
        new JoinedRequests(
            new JoinedRequests.Route() {
              @Override
              public <T> T use(Deadline deadline, Talk<T> talk) {
                int number = atGate.incrementAndGet();
                gate.acquireUninterruptibly();
                AtomicBoolean connected = new AtomicBoolean();
                try (Connection connection =
                    new Connection(address(), CONFIG) {
                      @Override
                      public Object getOne() {
                        if (connected.get()) {
                          before.of(this, number);
                        }
                        return super.getOne();
                      }
                    }) {
                  connected.set(true);
                  return Wire.talk(connection, deadline, false, talk);
                }
              }
            },
            0,
            lanes,
            LONG);
  }

  @Test
  void anInterruptTakesARequestBackThatIsNotSent() throws Exception {
    List<Caller> callers = gather();
    Caller interrupted = callers.get(17);
    interrupted.thread.interrupt();
    assertTrue(interrupted.failure() instanceof InterruptedException);
    letTheFirstGo(callers);
    gate.release();
    for (Caller caller : callers) {
      if (caller != interrupted) {
        caller.assertGrantedOnServer();
      }
    }
    assertNull(interrupted.valueOnServer());
  }

  @Test
  void interruptsOfThoseThatWaitForRepliesBreakNothingAndAreKept() throws Exception {
    List<Caller> callers = gather();
    letTheFirstGo(callers);
    NetworkFault held = proxy.hold(Direction.SERVER_TO_CLIENT);
    gate.release();
    for (Caller caller : callers.subList(1, CALLERS)) {
      Eventually.holds("its request is carried out", () -> caller.valueOnServer() != null);
    }
    callers.subList(1, 10).forEach(caller -> caller.thread.interrupt());
    held.close();
    for (Caller caller : callers) {
      caller.assertGrantedOnServer();
    }
    assertEquals(2, talks.get(), "an interrupt led to another talk");
    for (Caller caller : callers.subList(1, 10)) {
      assertTrue(caller.interruptKept, "an interrupt was swallowed");
    }
  }

  @Test
  void interruptsWhileALaneWaitsForAConnectionTakeBackOnlyTheirOwnRequests() throws Exception {
    List<Connection> borrowed = new ArrayList<>();
    List<Caller> callers = gather();
    letTheFirstGo(callers);
    for (int i = 0; i < 8; i++) {
      borrowed.add(pool.borrow(Backends.soon()));
    }
    gate.release();
    Eventually.holds("the lane waits for a connection", () -> pool.getNumWaiters() == 1);
    List<Caller> interrupted = callers.subList(1, 20);
    interrupted.forEach(caller -> caller.thread.interrupt());
    for (Caller caller : interrupted) {
      assertInstanceOf(InterruptedException.class, caller.failure());
    }
    borrowed.forEach(pool::returnResource);
    for (Caller caller : callers.subList(20, CALLERS)) {
      caller.assertGrantedOnServer();
    }
    for (Caller caller : interrupted) {
      assertNull(caller.valueOnServer());
    }
  }

  @Test
  void aRequestThatIsNotSentInTimeGoesAlone() throws Exception {
    joined.close();
    joined =
        new JoinedRequests(
            new JoinedRequests.Route() {
              @Override
              public <T> T use(Deadline deadline, Talk<T> talk) throws InterruptedException {
                if (atGate.incrementAndGet() == 1) {
                  gate.acquireUninterruptibly();
                }
                return node.use(deadline, true, false, talk);
              }
            },
            0,
            1,
            Duration.ofMillis(50));
    Caller held = caller(0);
    Eventually.holds("the lane is held", () -> atGate.get() == 1);
    for (int i = 1; i < 6; i++) {
      caller(i).assertGrantedOnServer();
    }
    held.assertGrantedOnServer();
  }

  /** They would wait for each other's connections, and all the longer the farther it is. */
  @Test
  void requestsDoNotGoAloneBecauseTheServerIsDistant() throws Exception {
    AtomicInteger alone = new AtomicInteger();
    joined.close();
    joined =
        new JoinedRequests(
            new JoinedRequests.Route() {
              @Override
              public <T> T use(Deadline deadline, Talk<T> talk) throws InterruptedException {
                if (Thread.currentThread().getName().startsWith("caller")) {
                  alone.incrementAndGet();
                }
                return node.use(deadline, true, false, talk);
              }
            },
            0,
            pool.size());
    var unused = proxy.delay(Direction.SERVER_TO_CLIENT, Duration.ofMillis(250));
    for (int round = 0; round < 4; round++) {
      List<Caller> callers = new ArrayList<>();
      for (int i = 0; i < CALLERS; i++) {
        callers.add(caller(round * CALLERS + i));
      }
      for (Caller caller : callers) {
        caller.granted();
      }
    }
    // Those of the first round may: it takes connections to be made.
    assertTrue(alone.get() < 2 * CALLERS, () -> alone + " went alone");
  }

  @Test
  void whatOneIsRefusedDoesNotTouchTheOthers() throws Exception {
    redis.call("LPUSH", "interlock:{job 7}", "somebody else's");
    List<Caller> callers = gather();
    letTheFirstGo(callers);
    gate.release();
    for (Caller caller : callers) {
      if (caller == callers.get(7)) {
        assertNotNull(caller.failure());
      } else {
        caller.assertGrantedOnServer();
      }
    }
  }

  @Test
  void onAClosedPoolAllAreTold() throws Exception {
    List<Caller> callers = gather();
    letTheFirstGo(callers);
    pool.close();
    gate.release(1_000);
    for (Caller caller : callers.subList(1, CALLERS)) {
      assertTrue(caller.failure() instanceof JedisException, () -> "got " + caller.token);
    }
    assertThrows(
        JedisException.class,
        () -> joined.run(new Call(Script.INSPECT, callers.get(0).keys), in(LONG)));
  }

  @Test
  void anAnswerThatIsAnErrorIsThrownToItsCallerAlone() throws Exception {
    List<Caller> callers = gather();
    letTheFirstGo(callers);
    // Like a primary that has become a replica: an error for each, and a connection to be dropped.
    redis.call("REPLICAOF", "127.0.0.1", "1");
    try {
      gate.release(1_000);
      for (Caller caller : callers.subList(1, CALLERS)) {
        Throwable failure = caller.failure();
        assertTrue(failure.getMessage().contains("READONLY"), failure::toString);
        assertFalse(failure instanceof JedisConnectionException);
      }
      assertEquals(0, pool.getNumIdle(), "a connection to a replica was kept");
    } finally {
      redis.call("REPLICAOF", "NO", "ONE");
    }
  }
}
