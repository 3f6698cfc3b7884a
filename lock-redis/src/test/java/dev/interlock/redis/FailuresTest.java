package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisReplyException;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Failures are distinguished, name a remedy, and leave nothing behind. The failures are those of a
 * real Redis wherever possible.
 */
class FailuresTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final String SECRET = "s3cret";

  @AutoClose
  private static final RedisServer redis =
      Testbed.redis().config("enable-debug-command yes").start();

  @BeforeEach
  void clear() throws IOException {
    redis.heal();
    redis.call("FLUSHALL");
  }

  // --- no connection
  // ------------------------------------------------------------------------------

  @Test
  void anUnknownHost() {
    LockUnavailableException e =
        unavailable(() -> Backends.open("redis://me:" + SECRET + "@nohost.invalid"));
    assertEquals("redis", e.backend());
    assertEquals("nohost.invalid:6379", e.endpoint());
    assertSays(e, "redis at nohost.invalid:6379: the host is not known");
  }

  @Test
  void aRefusedConnection() throws Exception {
    int port = Testbed.freePort();
    for (String scheme : List.of("redis", "rediss", "redis-cluster")) {
      assertSays(
          unavailable(() -> Backends.open(scheme + "://127.0.0.1:" + port)),
          scheme.replace("rediss", "redis")
              + " at 127.0.0.1:"
              + port
              + ": the connection was refused");
    }
    assertSays(
        unavailable(() -> Backends.open("redis-sentinel://127.0.0.1:" + port + "/mymaster")),
        "redis-sentinel at 127.0.0.1:" + port + "/mymaster: the connection was refused");
  }

  @Test
  void aServerThatIsNoRedis() throws Exception {
    try (CannedServer web = CannedServer.saying("HTTP/1.1 400 Bad Request\r\n\r\n")) {
      assertSays(
          unavailable(() -> Backends.open("redis://127.0.0.1:" + web.port())),
          "the server that answers is not Redis; is the port right?");
    }
  }

  @Test
  void aServerThatHangsUp() throws Exception {
    try (CannedServer rude = CannedServer.saying("")) {
      assertSays(
          unavailable(() -> Backends.open("redis://127.0.0.1:" + rude.port())),
          "the connection broke or could not be made");
    }
  }

  @Test
  void aServerThatDoesNotAnswerWhenOpened() throws Exception {
    redis.pause();
    assertGetsNoAnswer(() -> Backends.open(redis.uri(), Duration.ofMillis(300)));
  }

  @Test
  void aServerThatStopsAnswering() throws Exception {
    try (LockBackend backend = openInTime(Duration.ofMillis(300))) {
      redis.pause();
      Deadline far = in(Duration.ofMinutes(10));
      assertSays(unavailable(() -> backend.tryAcquire(claim("job"), far)), "no answer in time");
      assertSays(unavailable(() -> backend.inspect("job", far)), "no answer in time");
    }
  }

  @Test
  void theDeadlineOfOneRequestIsKeptEvenIfItIsShorterThanTheRequestTimeout() throws Exception {
    try (LockBackend backend = Backends.open(redis.uri(), Duration.ofMinutes(10))) {
      redis.pause();
      // Would wait for ten minutes.
      assertGetsNoAnswer(() -> backend.tryAcquire(claim("job"), in(Duration.ofMillis(200))));
      assertGetsNoAnswer(() -> backend.inspect("job", in(Duration.ofMillis(200))));
      redis.resume();
      // And later requests have their own.
      take(backend, claim("other"));
    }
  }

  @Test
  void connectingEndsWithTheDeadlineToo() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(redis.host(), redis.port());
        LockBackend backend =
            Backends.open("redis://127.0.0.1:" + proxy.port(), Duration.ofMinutes(10))) {
      try (NetworkFault partition = proxy.partition()) {
        // The first finds a connection that is there; the others are taken, and hear nothing.
        for (int i = 0; i < 3; i++) {
          assertGetsNoAnswer(() -> backend.tryAcquire(claim("job"), in(Duration.ofMillis(200))));
        }
      }
      take(backend, claim("other"));
    }
  }

  /** HELLO, CLIENT SETNAME and SELECT: each reply comes in time, all of them would not. */
  @Test
  void theStepsOfConnectingEndWithTheDeadlineTogether() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(redis.host(), redis.port());
        LockBackend backend =
            Backends.open("redis://127.0.0.1:" + proxy.port() + "/1", Duration.ofMinutes(10))) {
      assertConnectingEndsWithTheDeadline(proxy, backend);
    }
  }

  /**
   * Asserts that an answer was waited for until the deadline, and not each of several for that
   * long.
   */
  static void assertConnectingEndsWithTheDeadline(FaultProxy proxy, LockBackend backend)
      throws Exception {
    take(backend, claim("teach the script"));
    try (NetworkFault slow = proxy.delay(Direction.SERVER_TO_CLIENT, Duration.ofMillis(700))) {
      assertGetsNoAnswer(
          () -> {
            proxy.reset();
            backend.tryAcquire(claim("job"), in(Duration.ofSeconds(1)));
          });
    }
  }

  @Test
  void connectionsThatBreakAreReplacedWithoutTheCallersNotice() throws Exception {
    try (LockBackend backend = Backends.open(redis.uri())) {
      Backends.occupyConnections(redis, backend, 8);
      redis.restart();
      Claim claim = claim("job");
      take(backend, claim);
      assertTrue(backend.release(claim, soon()));
    }
  }

  @Test
  void aForcedReleaseIsNotRepeatedOnAnotherConnectionAsItWouldHitTheNextHolder() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(redis.host(), redis.port());
        LockBackend backend = Backends.open("redis://127.0.0.1:" + proxy.port())) {
      backend.forceRelease("teach the script", soon());
      take(backend, claim("job"));
      // The first answer is to the PING that makes sure of the connection.
      try (NetworkFault lost = proxy.dropAfter(Direction.SERVER_TO_CLIENT, "+PONG\r\n".length())) {
        assertSays(unavailable(() -> backend.forceRelease("job", soon())), "the connection broke");
      }
      assertFalse(backend.inspect("job", soon()).isHeld(), "it was carried out");
      take(backend, claim("job"));
      assertTrue(backend.inspect("job", soon()).isHeld());
    }
  }

  @Test
  void aGrantWhoseReplyIsLostIsUndoneByItsClaim() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(redis.host(), redis.port());
        LockBackend backend = Backends.open("redis://127.0.0.1:" + proxy.port())) {
      take(backend, claim("teach the script"));
      Claim claim = claim("job");
      try (NetworkFault lost = proxy.loseReplies(claim.id())) {
        assertGetsNoAnswer(() -> backend.tryAcquire(claim, in(Duration.ofMillis(300))));
      }
      Eventually.holds("it is carried out", () -> backend.inspect("job", soon()).isHeld());
      assertTrue(backend.release(claim, soon()));
      assertFalse(backend.inspect("job", soon()).isHeld());
    }
  }

  /** The requests are sent separately, or joined. */
  @ParameterizedTest
  @ValueSource(ints = {PooledNode.NEVER_JOINED, 0})
  void aReleaseWhoseReplyIsLostIsInDoubtAndNoLoss(int maxSeparate) throws Exception {
    LockOptions patient =
        LockOptions.builder()
            .ttl(Duration.ofHours(1))
            .requestTimeout(Duration.ofSeconds(20))
            .build();
    try (FaultProxy proxy = FaultProxy.to(redis.host(), redis.port());
        LockClient client =
            Backends.client("redis://127.0.0.1:" + proxy.port(), patient, maxSeparate)) {
      client.lock("teach the scripts").acquire().release();
      Lease lease = client.lock("job").acquire();
      CompletableFuture<ReleaseOutcome> release;
      // Not the next reply, which may be the greeting of another lane's new connection.
      try (NetworkFault lost = proxy.loseReplies("interlock:{job}")) {
        release = CompletableFuture.supplyAsync(lease::release);
        assertTrue(lost.awaitHit(Duration.ofSeconds(15)), "the server has answered");
        assertNull(redis.call("GET", "interlock:{job}"), "it was carried out");
      }
      assertEquals(ReleaseOutcome.UNKNOWN, release.get());
      assertFalse(lease.onLoss().isDone(), "it was not taken away");
      Lease second = client.lock("job").acquire();
      redis.call("DEL", "interlock:{job}");
      assertEquals(ReleaseOutcome.ALREADY_LOST, second.release());
    }
  }

  /**
   * The engine undoes an attempt after a failure that may pass, but not after a configuration
   * error.
   */
  @Test
  void aGrantWhoseRepetitionIsRefusedIsInDoubt() throws Exception {
    try (RedisServer guarded = Testbed.redis().user("me", SECRET, "~* &* +@all").start();
        FaultProxy proxy = FaultProxy.to(guarded.host(), guarded.port());
        LockBackend backend =
            Backends.open("redis://me:" + SECRET + "@127.0.0.1:" + proxy.port())) {
      take(backend, claim("teach the script"));
      Claim claim = claim("job");
      CompletableFuture<LockUnavailableException> attempt;
      try (NetworkFault lost = proxy.blackHole(Direction.SERVER_TO_CLIENT)) {
        attempt =
            CompletableFuture.supplyAsync(
                () -> unavailable(() -> backend.tryAcquire(claim, in(Duration.ofMinutes(1)))));
        Eventually.holds("granted", () -> guarded.call("GET", "interlock:{job}") != null);
        guarded.call("ACL", "SETUSER", "me", "resetpass", ">another");
      }
      assertSays(attempt.join(), "refuses the user or the password");
    }
  }

  /** The grant was answered; the connection breaks while the server waits for its replicas. */
  @Test
  void aGrantWhoseRepetitionIsRefusedIsInDoubtAlsoWhileReplicasAreAskedFor() throws Exception {
    try (RedisServer guarded = Testbed.redis().user("me", SECRET, "~* &* +@all").start();
        FaultProxy proxy = FaultProxy.to(guarded.host(), guarded.port());
        LockBackend backend =
            Backends.open(
                "redis://me:" + SECRET + "@127.0.0.1:" + proxy.port() + "?waitReplicas=1",
                Duration.ofMinutes(1))) {
      CompletableFuture<LockUnavailableException> attempt =
          CompletableFuture.supplyAsync(
              () -> unavailable(() -> backend.tryAcquire(claim("job"), in(Duration.ofMinutes(1)))));
      Eventually.holds(
          "asks for replicas",
          () -> String.valueOf(guarded.call("CLIENT", "LIST")).contains("cmd=wait"));
      guarded.call("ACL", "SETUSER", "me", "resetpass", ">another");
      proxy.reset();
      assertSays(attempt.join(), "refuses the user or the password");
    }
  }

  @Test
  void onlyARequestOfWhichNoCopyWasSentIsNotInDoubt() throws Exception {
    try (RedisServer mortal = Testbed.redis().start();
        FaultProxy proxy = FaultProxy.to(mortal.host(), mortal.port());
        LockBackend direct = Backends.open("redis://127.0.0.1:" + mortal.port());
        LockBackend cut = Backends.open("redis://127.0.0.1:" + proxy.port())) {
      take(cut, claim("loads the script and fills the pool"));
      CompletableFuture<LockUnavailableException> repeated;
      try (NetworkFault lost = proxy.blackHole(Direction.SERVER_TO_CLIENT)) {
        repeated =
            CompletableFuture.supplyAsync(
                () -> unavailable(() -> cut.tryAcquire(claim("job"), in(Duration.ofMinutes(1)))));
        Eventually.holds("granted", () -> mortal.call("GET", "interlock:{job}") != null);
        proxy.close(); // the connection breaks, and the repeated request is refused
      }
      assertTrue(repeated.join().isInDoubt(), () -> "granted, but: " + repeated.join());
      mortal.kill();
      unavailable(() -> direct.tryAcquire(claim("finds its connection broken"), soon()));
      LockUnavailableException unsent =
          unavailable(() -> direct.tryAcquire(claim("other"), soon()));
      assertSays(unsent, "the connection was refused");
      assertFalse(unsent.isInDoubt());
    }
  }

  @Test
  void aGrantIsUndoneIfReplicasMayNotBeAskedFor() throws Exception {
    try (RedisServer guarded = Testbed.redis().user("me", SECRET, "~* &* +@all -wait").start();
        LockBackend backend =
            Backends.open(
                "redis://me:" + SECRET + "@127.0.0.1:" + guarded.port() + "?waitReplicas=1")) {
      assertSays(refused(() -> backend.tryAcquire(claim("job"), soon())), "does not grant");
      assertEquals(null, guarded.call("GET", "interlock:{job}"));
    }
  }

  @Test
  void allConnectionsInUse() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(redis.host(), redis.port());
        LockBackend backend =
            Backends.open(
                "redis://127.0.0.1:" + proxy.port() + "?maxConnections=1", Duration.ofMinutes(2))) {
      long before = proxy.traffic().toServer().received();
      try (NetworkFault fault = proxy.hold(Direction.SERVER_TO_CLIENT)) {
        CompletableFuture<Void> slow =
            CompletableFuture.runAsync(
                () -> {
                  try {
                    backend.inspect("job", in(Duration.ofMinutes(2)));
                  } catch (InterruptedException e) {
                    throw new AssertionError(e);
                  }
                });
        Eventually.holds("asked", () -> proxy.traffic().toServer().received() > before);
        assertSays(
            unavailableInTime(() -> backend.inspect("job", in(Duration.ofMillis(200)))),
            "all 1 connections are in use");
        fault.close();
        slow.join();
      }
    }
  }

  // --- a server that cannot serve at the moment
  // ---------------------------------------------------

  @Test
  void aServerThatIsLoading() throws Exception {
    try (LockBackend backend = Backends.open(redis.uri())) {
      take(backend, claim("other"));
      redis.call("CONFIG", "SET", "rdbcompression", "no");
      // Loads for a minute, unless it is stopped.
      redis.call("DEBUG", "POPULATE", "1200", "filler", "2000");
      redis.call("CONFIG", "SET", "key-load-delay", "50000");
      redis.call("CONFIG", "SET", "loading-process-events-interval-bytes", "1024");
      CompletableFuture<Void> reload = inBackground("DEBUG", "RELOAD");
      Eventually.holds("loading", () -> redis.info("persistence", "loading").equals("1"));
      assertSays(unavailable(() -> backend.tryAcquire(claim("job"), soon())), "still loading");
      assertSays(unavailable(() -> Backends.open(redis.uri())), "still loading");
      redis.call("CONFIG", "SET", "key-load-delay", "0");
      reload.join();
    }
    assertNothingIsLeft();
  }

  @Test
  void aReadOnlyReplicaAndOneThatLostItsPrimary() throws Exception {
    try (RedisServer primary = Testbed.redis().start();
        LockBackend backend = Backends.open(redis.uri())) {
      redis.call("REPLICAOF", primary.host(), Integer.toString(primary.port()));
      Eventually.holds(
          "linked", () -> redis.info("replication", "master_link_status").equals("up"));
      assertSays(
          unavailable(() -> backend.tryAcquire(claim("job"), soon())), "is a read-only replica");
      redis.call("CONFIG", "SET", "replica-serve-stale-data", "no");
      primary.kill();
      Eventually.holds(
          "cut off", () -> redis.info("replication", "master_link_status").equals("down"));
      assertSays(
          unavailable(() -> backend.tryAcquire(claim("job"), soon())), "has lost its primary");
      assertSays(unavailable(() -> Backends.open(redis.uri())), "has lost its primary");
    } finally {
      redis.call("REPLICAOF", "NO", "ONE");
      redis.call("CONFIG", "SET", "replica-serve-stale-data", "yes");
    }
    assertNothingIsLeft();
  }

  @Test
  void aServerWithoutMemory() throws Exception {
    try (LockBackend backend = Backends.open(redis.uri())) {
      Claim held = claim("held");
      take(backend, held);
      redis.call("CONFIG", "SET", "maxmemory", "1");
      assertSays(unavailable(() -> backend.tryAcquire(claim("job"), soon())), "is out of memory");
      assertTrue(backend.release(held, soon()), "giving up needs no memory");
    } finally {
      redis.call("CONFIG", "SET", "maxmemory", "0");
    }
    assertEquals(List.of("interlock:{held}:fence"), redis.call("KEYS", "*"));
  }

  @Test
  void aServerWithoutMemorySaysWhatIsLostNoLessThanOthers() throws Exception {
    try (LockBackend backend = Backends.open(redis.uri())) {
      Grant lost = take(backend, claim("job"));
      assertTrue(backend.forceRelease("job", soon()));
      take(backend, claim("job"));
      redis.call("CONFIG", "SET", "maxmemory", "1");
      assertInstanceOf(Renewal.Lost.class, backend.renew(lost, soon()));
      assertFalse(backend.release(lost.claim(), soon()));
      assertTrue(backend.inspect("job", soon()).isHeld());
    } finally {
      redis.call("CONFIG", "SET", "maxmemory", "0");
    }
  }

  @Test
  void aServerWithoutMemoryRevokes() throws Exception {
    try (LockBackend backend = Backends.open(redis.uri())) {
      Grant exclusive = take(backend, claim("job"));
      Grant reader = take(backend, claim("read", Share.READ));
      redis.call("CONFIG", "SET", "maxmemory", "1");
      for (Grant grant : List.of(exclusive, reader)) {
        assertTrue(backend.revoke(grant.claim().name(), soon()));
        assertInstanceOf(Renewal.Lost.class, backend.renew(grant, soon()));
        assertTrue(backend.inspect(grant.claim().name(), soon()).isHeld());
      }
    } finally {
      redis.call("CONFIG", "SET", "maxmemory", "0");
    }
  }

  @Test
  void aServerThatIsBusyWithAScript() throws Exception {
    try (LockBackend backend = Backends.open(redis.uri())) {
      redis.call("CONFIG", "SET", "busy-reply-threshold", "10");
      CompletableFuture<Void> script = inBackground("EVAL", "while true do end", "0");
      Eventually.holds(
          "busy",
          () -> {
            try {
              redis.call("PING");
              return false;
            } catch (RedisReplyException e) {
              return true;
            }
          });
      assertSays(unavailable(() -> backend.tryAcquire(claim("job"), soon())), "SCRIPT KILL");
      redis.call("SCRIPT", "KILL");
      assertThrows(RuntimeException.class, script::join);
      // The usual one: a server that stands still in a script is not busy with it.
      redis.call("CONFIG", "SET", "busy-reply-threshold", "5000");
      take(backend, claim("job"));
    }
  }

  @Test
  void aServerWithTooFewReplicas() throws Exception {
    try (LockBackend backend = Backends.open(redis.uri())) {
      take(backend, claim("held"));
      take(backend, claim("read", Share.READ));
      redis.call("CONFIG", "SET", "min-replicas-to-write", "1");
      assertSays(
          unavailable(() -> backend.tryAcquire(claim("job"), soon())), "min-replicas-to-write");
      assertTrue(backend.inspect("held", soon()).isHeld());
      assertTrue(backend.inspect("read", soon()).isHeld());
      assertFalse(backend.inspect("job", soon()).isHeld());
    } finally {
      redis.call("CONFIG", "SET", "min-replicas-to-write", "0");
    }
    assertNothingIsLeft();
  }

  @Test
  void aGrantThatTooFewReplicasConfirmIsUndone() throws Exception {
    try (LockBackend backend =
        Backends.open(redis.uri() + "?waitReplicas=1", Duration.ofSeconds(12))) {
      // A quarter of it is left for the undoing, longer than a busy machine stands still.
      assertSays(
          unavailable(() -> backend.tryAcquire(claim("job"), in(Duration.ofSeconds(12)))),
          "fewer than 1 replicas");
    }
    assertEquals(List.of("interlock:{job}:fence"), redis.call("KEYS", "*"));
  }

  @Test
  void aServerWithoutConnectionsToSpare() throws Exception {
    try (LockBackend first = Backends.open(redis.uri())) {
      redis.call("CONFIG", "SET", "maxclients", "1");
      assertSays(unavailable(() -> Backends.open(redis.uri())), "maxclients");
    } finally {
      Eventually.holds(
          "connected again",
          () -> {
            try {
              redis.call("CONFIG", "SET", "maxclients", "10000");
              return true;
            } catch (IOException full) {
              return false;
            }
          });
    }
  }

  @Test
  void aClusterThatIsDown() throws Exception {
    try (RedisServer lonely = Testbed.redis().config("cluster-enabled yes").start();
        LockBackend backend = Backends.open(lonely.uri())) {
      assertSays(
          unavailable(() -> backend.tryAcquire(claim("job"), soon())), "cluster that is down");
    }
  }

  // --- configuration errors
  // -------------------------------------------------------------

  @Test
  void aServerThatRepeatsThePasswordIsNotQuoted() throws Exception {
    try (RedisServer open =
        Testbed.redis().config("rename-command AUTH \"\"", "rename-command HELLO \"\"").start()) {
      LockException e =
          refused(() -> Backends.open("redis://me:" + SECRET + "@127.0.0.1:" + open.port()));
      assertSays(e, "unknown command");
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        assertFalse(cause.toString().contains(SECRET), cause::toString);
        for (Throwable suppressed : cause.getSuppressed()) {
          assertFalse(suppressed.toString().contains(SECRET), suppressed::toString);
        }
      }
    }
  }

  @Test
  void aMissingAndAWrongPassword() throws Exception {
    try (RedisServer guarded = Testbed.redis().password(SECRET).start()) {
      String plain = "redis://127.0.0.1:" + guarded.port();
      assertSays(refused(() -> Backends.open(plain)), "requires a password");
      String wrong = plain.replace("//", "//:wr0ng@");
      LockConfigurationException e = refused(() -> Backends.open(wrong));
      assertSays(e, "refuses the user or the password");
      assertFalse(e.toString().contains("wr0ng"));
      assertSays(
          refused(() -> Backends.open(plain.replace("//", "//nobody:" + SECRET + "@"))),
          "refuses the user or the password");
      try (LockBackend backend = Backends.open(plain.replace("//", "//:" + SECRET + "@"))) {
        take(backend, claim("job"));
        assertFalse(backend.endpoint().contains(SECRET));
        assertFalse(backend.toString().contains(SECRET));
      }
      assertSays(
          refused(() -> Backends.open(plain.replace("redis:", "redis-cluster:"))),
          "requires a password");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "~* &* +@all -@scripting",
        "~other:* &* +@all",
        "~interlock:* &* +@all -set",
        "~interlock:* &* +@all -time",
      })
  void aMissingPermission(String rules) throws Exception {
    try (RedisServer guarded = Testbed.redis().user("me", SECRET, rules).start();
        LockBackend backend =
            Backends.open("redis://me:" + SECRET + "@127.0.0.1:" + guarded.port())) {
      LockConfigurationException e = refused(() -> backend.tryAcquire(claim("job"), soon()));
      assertSays(e, "does not grant the user the rights that locks need");
      assertFalse(e.toString().contains(SECRET));
      assertEquals(List.of(), guarded.call("KEYS", "*"));
    }
  }

  @Test
  void aServerWhoseScriptsAreSwitchedOff() throws Exception {
    try (RedisServer odd = Testbed.redis().config("rename-command EVALSHA \"\"").start();
        LockBackend backend = Backends.open(odd.uri())) {
      assertSays(
          refused(() -> backend.tryAcquire(claim("job"), soon())),
          "lacks a command that locks need: it was renamed or disabled");
      assertEquals(List.of(), odd.call("KEYS", "*"));
    }
  }

  @Test
  void aDatabaseThatDoesNotExist() {
    assertSays(refused(() -> Backends.open(redis.uri() + "/99")), "does not have the database");
  }

  @Test
  void aSingleServerThatIsTakenForACluster() {
    assertSays(
        refused(() -> Backends.open(redis.uri().replace("redis:", "redis-cluster:"))),
        "is not a node of a cluster; use redis://");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // As servers before Redis 7 put it.
        "ERR Error running script (call to f_0f): @user_script:30: @user_script: 30: -READONLY You"
            + " can't write against a read only replica. | is a read-only replica",
        "ERR Error running script (call to f_0f): @user_script:30: @user_script: 30: -OOM command"
            + " not allowed when used memory > 'maxmemory'. | is out of memory",
        "ERR Error running script (call to f_0f): @user_script:30: @user_script: 30: -MISCONF Redis"
            + " is configured to save RDB snapshots | cannot save its data",
        "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to"
            + " disk. | cannot save its data",
        "TRYAGAIN Multiple keys request during rehashing of slot | is moving the lock's slot",
        "NOSCRIPT No matching script. Please use EVAL. | forgets scripts",
        "ERR something nobody has thought of | something nobody has thought of",
      })
  void oldAndRareWordsForWhatMayPass(String answer, String message) throws Exception {
    try (CannedServer server = CannedServer.answeringScripts("-" + answer);
        LockBackend backend = Backends.open("redis://127.0.0.1:" + server.port())) {
      assertSays(unavailable(() -> backend.tryAcquire(claim("job"), soon())), message);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ERR Error running script (call to f_0f): @user_script:29: @user_script: 29: Write commands"
            + " not allowed after non deterministic commands. | is older than Redis 5",
        "ERR unknown command `EVALSHA`, with args beginning with: | older than Redis 5",
        "ERR The user executing the script can't run this command or subcommand | does not grant",
        "NOPERM this user has no permissions to run the 'evalsha' command | does not grant",
        "DENIED Redis is running in protected mode because | is in protected mode",
        "MOVED 866 127.0.0.1:7001 | is a node of a Redis Cluster; use redis-cluster:",
      })
  void oldAndRareWordsForWhatAPersonMustSetRight(String answer, String message) throws Exception {
    try (CannedServer server = CannedServer.answeringScripts("-" + answer);
        LockBackend backend = Backends.open("redis://127.0.0.1:" + server.port())) {
      assertSays(refused(() -> backend.tryAcquire(claim("job"), soon())), message);
    }
  }

  // ------------------------------------------------------------------------------------------------

  private static Deadline in(Duration duration) {
    return Deadline.in(Backends.TIME, duration);
  }

  /** Opens a backend with little time for each request, again if the server took longer. */
  private static LockBackend openInTime(Duration requestTimeout) throws Exception {
    AtomicReference<LockBackend> opened = new AtomicReference<>();
    Eventually.holds(
        "opened in time",
        () -> {
          try {
            opened.set(Backends.open(redis.uri(), requestTimeout));
            return true;
          } catch (LockUnavailableException late) {
            return false;
          }
        });
    return opened.get();
  }

  private static CompletableFuture<Void> inBackground(String... command) {
    return CompletableFuture.runAsync(
        () -> {
          try {
            redis.call(command);
          } catch (IOException e) {
            throw new IllegalStateException(e);
          }
        });
  }

  private static void assertNothingIsLeft() throws IOException {
    assertEquals(null, redis.call("GET", "interlock:{job}"));
    assertEquals(null, redis.call("GET", "interlock:{job}:fence"));
  }

  private static LockUnavailableException unavailable(Executable action) {
    return assertInstanceOf(
        LockUnavailableException.class, assertThrows(LockException.class, action));
  }

  /**
   * Asks again where this JVM stood still, so that the deadline passed before the request was sent.
   */
  private static LockUnavailableException unavailableInTime(Executable action) throws Exception {
    AtomicReference<LockUnavailableException> last = new AtomicReference<>();
    Eventually.holds(
        "asked in time",
        () -> {
          last.set(unavailable(action));
          return !last.get().getMessage().contains("the deadline passed before");
        });
    return last.get();
  }

  private static void assertGetsNoAnswer(Executable action) throws Exception {
    assertSays(unavailableInTime(action), "no answer in time");
  }

  private static LockConfigurationException refused(Executable action) {
    return assertInstanceOf(
        LockConfigurationException.class, assertThrows(LockException.class, action));
  }

  private static void assertSays(LockException e, String message) {
    assertTrue(e.getMessage().contains(message), e::getMessage);
    assertFalse(e.getMessage().contains(SECRET), e::getMessage);
  }
}
