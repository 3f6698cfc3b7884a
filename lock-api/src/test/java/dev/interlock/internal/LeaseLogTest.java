package dev.interlock.internal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.Uninterruptibles;
import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.Registration;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The log lines about lost leases; the tests' logger writes to stderr. */
class LeaseLogTest extends EngineFixture {

  private static final String LOST = "lease of \"a\" with token 64 was lost ";

  private final PrintStream stderr = System.err;
  private final ByteArrayOutputStream log = new ByteArrayOutputStream();

  @BeforeEach
  void capture() {
    System.setErr(new PrintStream(log, true, UTF_8));
  }

  @AfterEach
  void restore() {
    System.setErr(stderr);
  }

  private void awaitLine(String text) {
    Waits.until(text, () -> log.toString(UTF_8).contains(text));
  }

  private Lease acquireFor(Duration minHold, Consumer<LockOptions.Builder> more) throws Exception {
    return engine.lock("a", more.andThen(options -> options.minHold(minHold))).acquire();
  }

  @Test
  void aLossIsLoggedWithItsReason() throws Exception {
    Lease lease = engine.lock("a").acquire();
    store.down(true);
    advanceUntil("the lease has ended", () -> !lease.isHeld());
    awaitLine(LOST + "(EXPIRED): no renewal was confirmed in time");
  }

  private final CountDownLatch blocked = new CountDownLatch(1);
  private final CountDownLatch unblocked = new CountDownLatch(1);

  private void blockAt(String text) {
    System.setErr(
        new PrintStream(log, true, UTF_8) {
          @Override
          public void println(String line) {
            if (line.contains(text)) {
              blocked.countDown();
              boolean ignored = Uninterruptibles.awaitUninterruptibly(unblocked, 30, SECONDS);
            }
            super.println(line);
          }
        });
  }

  @Test
  void aLogThatBlocksDoesNotStopTheTimer() throws Exception {
    blockAt("was never released");
    Background<Boolean> abandoning =
        inBackground(() -> engine.lock("abandoned").asLock().tryLock());
    assertTrue(abandoning.get());
    abandoning.thread.join();
    Lease lease = engine.lock("a").acquire();
    try {
      advanceUntil("the log to block", () -> blocked.getCount() == 0);
      store.down(true);
      advanceUntil("the loss", () -> lease.onLoss().isDone());
    } finally {
      unblocked.countDown();
    }
    awaitLine("(EXPIRED)"); // another test could read it
  }

  @Test
  void aLogThatBlocksDoesNotStopAReleaseInTheBackground() throws Exception {
    blockAt("refuses to release");
    Lease lease = engine.lock("a").acquire();
    store.refuse(true);
    lease.release();
    try {
      Waits.until("the log to block", () -> blocked.getCount() == 0);
      store.refuse(false);
      advanceUntil("nothing is left", () -> engine.residue() == 0);
    } finally {
      unblocked.countDown();
    }
    awaitLine("refuses to release");
  }

  @Test
  void aLogThatBlocksDoesNotMuteAListenerThatThrows() throws Exception {
    blockAt("a listener failed");
    CountDownLatch calls = new CountDownLatch(2);
    Registration registration =
        engine.onEvent(
            event -> {
              calls.countDown();
              throw new IllegalStateException("thrown by a test");
            });
    try {
      engine.lock("a").acquire().release();
      assertTrue(calls.await(10, SECONDS), calls::toString);
    } finally {
      registration.close();
      unblocked.countDown();
    }
    awaitLine("a listener failed");
  }

  @Test
  void aLogThatBlocksKeepsNoLeaderWhoseWorkHasFailed() throws Exception {
    blockAt("the work of the leader of");
    LeaderElection.Candidacy candidacy =
        engine
            .election("a")
            .start(
                leadership -> {
                  throw new IllegalStateException("thrown by a test");
                });
    try {
      assertTrue(blocked.await(10, SECONDS), "nothing was logged");
      Waits.until("it has resigned", () -> !store.holds("a"));
    } finally {
      unblocked.countDown();
      candidacy.close();
    }
  }

  @Test
  void aCloseThatCutsAMinimumHoldShortIsLogged() throws Exception {
    acquireFor(TTL, options -> {}).close();
    engine.close();
    awaitLine(LOST + "(CLOSED): its client was closed before its minimum hold had passed");
  }

  @Test
  void aMinimumHoldThatAnOutageEndsIsALossIfTheStoreMayHaveDeferredItToo() throws Exception {
    store.defersReleases();
    Lease lease =
        anotherClient().lock("a", options -> options.minHold(TTL.multipliedBy(3))).acquire();
    store.loseReply(FakeStore.Op.DEFER);
    lease.release();
    store.down(true);
    advanceUntil("the lock has ended", () -> !store.holds("a"));
    awaitLine(LOST + "(EXPIRED): no renewal was confirmed in time");
  }

  @Test
  void aMinimumHoldThatTheStoreKeptWithoutConfirmingItIsNoLoss() throws Exception {
    store.defersReleases();
    DefaultLockClient deferring = anotherClient();
    Lease lease = deferring.lock("a", options -> options.minHold(TTL.multipliedBy(3))).acquire();
    store.loseEachReply(FakeStore.Op.DEFER);
    lease.release();
    advanceUntil("nothing is left of it", () -> deferring.residue() == 0 && !store.holds("a"));
    assertNothingIsLoggedOf("a", deferring);
  }

  @Test
  void aMinimumHoldThatIsLostWhileItsDeferralIsInDoubtIsALoss() throws Exception {
    store.defersReleases();
    Lease lease =
        anotherClient().lock("a", options -> options.minHold(TTL.multipliedBy(3))).acquire();
    store.loseReply(FakeStore.Op.DEFER);
    lease.release();
    store.delete("a");
    advanceUntil("a log", () -> log.toString(UTF_8).contains(LOST));
    awaitLine(LOST + "(TAKEN)");
  }

  @Test
  void aMinimumHoldThatTheTtlEndsIsNoLoss() throws Exception {
    acquireFor(TTL, options -> options.autoRenew(false)).close();
    advanceUntil("the lock is free", () -> engine.residue() == 0);
    String lines = assertNothingIsLoggedOf("a", engine);
    assertTrue(lines.contains("(CLOSED): its client was closed while the lease was held"), lines);
  }

  private String assertNothingIsLoggedOf(String name, DefaultLockClient client) throws Exception {
    Lease other = client.lock("b").acquire();
    client.close();
    assertFalse(other.isHeld());
    awaitLine("\"b\"");
    String lines = log.toString(UTF_8);
    assertEquals(-1, lines.indexOf('"' + name + '"'), lines);
    return lines;
  }
}
