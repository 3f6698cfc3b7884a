package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;

/** The threads on which the program's code runs, and the effects of that code on them. */
class CallbackTest extends EngineFixture {

  /** Throws a checked exception, as languages without checked exceptions do. */
  @SuppressWarnings("unchecked") // nothing is cast
  private static <E extends Throwable> void throwChecked() throws E {
    throw (E) new Exception("checked");
  }

  private static Object isVirtual(Thread thread) {
    try {
      return Thread.class.getMethod("isVirtual").invoke(thread);
    } catch (ReflectiveOperationException e) {
      return false; // before JDK 21
    }
  }

  private static Thread thread(BlockingQueue<Thread> threads) throws InterruptedException {
    Thread thread = threads.poll(30, java.util.concurrent.TimeUnit.SECONDS);
    assertTrue(thread != null, "nothing was called");
    return thread;
  }

  /** Virtual threads need a free carrier, and the program may compute on all carriers. */
  @Test
  void lossesAndEventsComeOnPlatformThreads() throws Exception {
    BlockingQueue<Thread> threads = new LinkedBlockingQueue<>();
    engine.onEvent(event -> threads.add(Thread.currentThread()));
    Lease lease = engine.lock("a").acquire();
    assertEquals(false, isVirtual(thread(threads)));
    var unused = lease.onLoss().thenRun(() -> threads.add(Thread.currentThread()));
    lease.onEvent(event -> threads.add(Thread.currentThread()));
    store.reportLoss("a", LossReason.TAKEN);
    for (int i = 0; i < 3; i++) {
      assertEquals(false, isVirtual(thread(threads)));
    }
  }

  @Test
  void aListenerThatThrowsACheckedExceptionIsCalledAgain() throws Exception {
    BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
    engine.onEvent(
        event -> {
          events.add(event);
          CallbackTest.<RuntimeException>throwChecked();
        });
    engine.lock("a").acquire().close();
    next(events, LockEvent.Acquired.class);
    next(events, LockEvent.Released.class);
  }

  @Test
  void aCheckedExceptionOutOfABackendEndsTheCallAndLeavesNothing() throws Exception {
    store.onNextCall(FakeStore.Op.ACQUIRE, CallbackTest::<RuntimeException>throwChecked);
    CompletableFuture<Optional<Lease>> attempt = engine.lock("a").tryAcquireAsync();
    Throwable failure = assertThrows(ExecutionException.class, () -> get(attempt)).getCause();
    assertEquals("checked", failure.getMessage());
    advanceUntil("nothing is left", () -> engine.residue() == 0);
  }

  @Test
  void aCheckedExceptionOutOfAReleaseLeavesItToTheCleanup() throws Exception {
    Lease lease = engine.lock("a").acquire();
    store.onNextCall(FakeStore.Op.RELEASE, CallbackTest::<RuntimeException>throwChecked);
    assertEquals(ReleaseOutcome.UNKNOWN, get(lease.releaseAsync()));
    Waits.until("the release", () -> !store.holds("a"));
  }

  @Test
  void aCheckedExceptionOutOfARenewalIsAFailedRenewal() throws Exception {
    try (Lease lease = engine.lock("a").acquire()) {
      store.onNextCall(FakeStore.Op.RENEW, CallbackTest::<RuntimeException>throwChecked);
      Throwable failure = assertThrows(Exception.class, lease::renew);
      assertInstanceOf(dev.interlock.LockUnavailableException.class, failure);
      lease.renew();
      assertTrue(lease.isHeld());
    }
  }

  /** A thread could inherit a security context, or 50 MB, from the first thread that needs it. */
  @Test
  void threadsInheritNothingFromTheThreadsThatNeedThemFirst() throws Exception {
    ClassLoader openers = Thread.currentThread().getContextClassLoader();
    InheritableThreadLocal<String> user = new InheritableThreadLocal<>();
    BlockingQueue<Thread> threads = new LinkedBlockingQueue<>();
    BlockingQueue<Optional<String>> users = new LinkedBlockingQueue<>();
    BlockingQueue<ClassLoader> loaders = new LinkedBlockingQueue<>();
    Runnable note =
        () -> {
          users.add(Optional.ofNullable(user.get()));
          loaders.add(Thread.currentThread().getContextClassLoader());
          threads.add(Thread.currentThread());
        };
    try (URLClassLoader callers = new URLClassLoader(new URL[0], openers)) {
      user.set("alice");
      Thread.currentThread().setContextClassLoader(callers);
      engine.onEvent(event -> note.run());
      FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
      CompletableFuture<Void> delivered =
          engine.lock("a").acquireAsync().thenAccept(lease -> note.run());
      gate.open();
      get(delivered);
      for (int i = 0; i < 2; i++) {
        String name = thread(threads).getName();
        assertTrue(name.startsWith("interlock-fake-"), name);
        assertEquals(Optional.empty(), users.take());
        assertSame(openers, loaders.take());
      }
      Thread timer = engine.engine.platform.thread("any", note);
      timer.start();
      timer.join();
      assertEquals(Optional.empty(), users.take());
      assertSame(openers, loaders.take());
    } finally {
      user.remove();
      Thread.currentThread().setContextClassLoader(openers);
    }
  }
}
