package dev.interlock.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class DelayedTasksTest {

  private static final Duration SHORT_DELAY = Duration.ofMillis(1);
  private static final Duration LONG_DELAY = Duration.ofDays(1);

  private final DelayedTasks delayed = new DelayedTasks("later", Duration.ofMillis(500));

  @Test
  void aTaskRunsOnADaemonThreadThatInheritsNothingFromTheCaller() throws Exception {
    InheritableThreadLocal<String> context = new InheritableThreadLocal<>();
    context.set("alice");
    ClassLoader opener = Thread.currentThread().getContextClassLoader();
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    CompletableFuture<String> inherited = new CompletableFuture<>();
    Thread.currentThread().setContextClassLoader(new ClassLoader() {});
    try {
      delayed.run(
          () -> {
            inherited.complete(context.get());
            ran.complete(Thread.currentThread());
          },
          SHORT_DELAY);
    } finally {
      Thread.currentThread().setContextClassLoader(opener);
    }
    assertNull(inherited.join());
    assertTrue(ran.join().isDaemon());
    assertSame(opener, ran.join().getContextClassLoader());
    ran.join().join(); // it is idle
  }

  @Test
  void aFailedTaskDoesNotEndTheThread() throws Exception {
    delayed.run(
        () -> {
          throw new AssertionError("expected by this test");
        },
        SHORT_DELAY);
    CountDownLatch ran = new CountDownLatch(1);
    delayed.run(ran::countDown, SHORT_DELAY);
    ran.await();
  }

  @Test
  void afterCloseNoTaskBeginsAndEveryFutureIsTimedOut() throws Exception {
    CompletableFuture<Thread> thread = new CompletableFuture<>();
    delayed.run(() -> thread.complete(Thread.currentThread()), SHORT_DELAY);
    assertTrue(thread.join().isAlive());
    Future<?> before = delayed.run(() -> {}, LONG_DELAY);
    CompletableFuture<String> answer = delayed.timeOut(new CompletableFuture<>(), LONG_DELAY);
    CompletableFuture<Void> pause = delayed.after(LONG_DELAY);
    delayed.close();
    assertTrue(before.isCancelled());
    assertTimedOut(answer);
    pause.join();
    assertTrue(delayed.run(() -> {}, SHORT_DELAY).isCancelled());
    assertTimedOut(delayed.timeOut(new CompletableFuture<>(), LONG_DELAY));
    delayed.after(LONG_DELAY).join();
    thread.join().join();
  }

  @Test
  void aFutureIsTimedOutUnlessItIsComplete() throws Exception {
    assertTimedOut(delayed.timeOut(new CompletableFuture<>(), SHORT_DELAY));
    CompletableFuture<String> answer = delayed.timeOut(new CompletableFuture<>(), LONG_DELAY);
    assertFalse(answer.isDone());
    answer.complete("answer");
    assertEquals("answer", answer.get(1, TimeUnit.SECONDS));
    delayed.after(SHORT_DELAY).join();
  }

  private static void assertTimedOut(CompletableFuture<?> future) {
    CompletionException e = assertThrows(CompletionException.class, future::join);
    assertInstanceOf(TimeoutException.class, e.getCause());
  }
}
