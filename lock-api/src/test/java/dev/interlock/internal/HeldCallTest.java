package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockKind;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.Registration;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HeldCallTest extends EngineFixture {

  private static Object sleep(CountDownLatch begun) throws InterruptedException {
    begun.countDown();
    new CountDownLatch(1).await();
    throw new AssertionError("nothing ends this but an interrupt");
  }

  private static LeaseLostException lossOf(Background<?> call) {
    return assertInstanceOf(
        LeaseLostException.class, assertThrows(ExecutionException.class, call::get).getCause());
  }

  @Test
  void workReturnsItsResultAndItsFailureWhileTheLeaseIsHeld() throws Exception {
    try (Lease lease = acquire(RENEWED)) {
      assertEquals("done", lease.callWhileHeld(() -> "done"));
      IOException failure = new IOException("no");
      assertSame(
          failure,
          assertThrows(
              IOException.class,
              () ->
                  lease.callWhileHeld(
                      () -> {
                        throw failure;
                      })));
      assertEquals(
          "released",
          lease.callWhileHeld(
              () -> {
                lease.release();
                return "released";
              }));
      assertThrows(IllegalStateException.class, () -> lease.callWhileHeld(() -> "too late"));
    }
  }

  @Test
  void aLossInterruptsTheWork() throws Exception {
    Lease lease = acquire(RENEWED);
    MultiLease set = engine.multiLock(List.of("b", "c")).acquire();
    for (Lease each : List.of(lease, set)) {
      CountDownLatch begun = new CountDownLatch(2);
      Background<Object> call = inBackground(() -> each.callWhileHeld(() -> sleep(begun)));
      Background<Object> other = inBackground(() -> each.callWhileHeld(() -> sleep(begun)));
      assertTrue(begun.await(30, TimeUnit.SECONDS));
      store.reportLoss(each == lease ? "a" : "c", LossReason.TAKEN);
      LeaseLostException loss = lossOf(call);
      assertEquals(LossReason.TAKEN, loss.reason());
      assertInstanceOf(InterruptedException.class, loss.getSuppressed()[0]);
      lossOf(other);
    }
  }

  @Test
  void workThatIgnoresTheInterruptReturnsNothingAndLeavesNoInterrupt() throws Exception {
    Lease lease = acquire(RENEWED);
    assertThrows(
        LeaseLostException.class,
        () ->
            lease.callWhileHeld(
                () -> {
                  store.reportLoss("a", LossReason.TAKEN);
                  Waits.until("the interrupt", () -> Thread.currentThread().isInterrupted());
                  return "too late";
                }));
    assertFalse(Thread.currentThread().isInterrupted());
    assertThrows(LeaseLostException.class, () -> lease.callWhileHeld(() -> "lost before"));
    assertFalse(Thread.currentThread().isInterrupted());
  }

  @Test
  void anInterruptOfSomebodyElseStaysWhereThereIsNoLoss() throws Exception {
    try (Lease lease = acquire(RENEWED)) {
      Thread.currentThread().interrupt();
      assertTrue(lease.callWhileHeld(() -> Thread.currentThread().isInterrupted()));
      assertTrue(Thread.interrupted());
    }
  }

  @Test
  void anInterruptOfSomebodyElseBeforeTheLossStays() throws Exception {
    CompletableFuture<HeldCall> call = new CompletableFuture<>();
    Lease lease =
        (Lease)
            Proxy.newProxyInstance(
                Lease.class.getClassLoader(),
                new Class<?>[] {Lease.class},
                (proxy, method, arguments) -> {
                  if (!method.getName().equals("onEvent")) {
                    return null;
                  }
                  call.complete((HeldCall) arguments[0]);
                  return (Registration) () -> {};
                });
    LeaseLostException loss = new LeaseLostException("a", LossReason.TAKEN, "", null);
    Events.Source source = new Events.Source("a", LockKind.EXCLUSIVE, 1, 1, Instant.EPOCH, "");
    String result =
        HeldCall.run(
            lease,
            () -> {
              Thread.currentThread().interrupt();
              call.join().accept(new Events.Lost(source, loss, TTL));
              return "done";
            });
    assertEquals("done", result);
    assertTrue(Thread.interrupted());
  }

  /** A loss at the end of the work interrupts the work, or nothing. */
  @Test
  void noInterruptComesAfterTheWorkHasEnded() throws Exception {
    for (int i = 0; i < 300; i++) {
      Lease lease = acquire(FIXED);
      Background<?> loss =
          inBackground(
              () -> {
                store.reportLoss("a", LossReason.TAKEN);
                return "";
              });
      try {
        assertEquals("in time", lease.callWhileHeld(() -> "in time"));
      } catch (LeaseLostException e) {
        assertEquals(LossReason.TAKEN, e.reason());
      }
      loss.get();
      get(lease.onLoss());
      assertFalse(Thread.currentThread().isInterrupted());
      store.delete("a");
    }
  }
}
