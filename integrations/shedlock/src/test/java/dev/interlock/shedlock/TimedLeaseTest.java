package dev.interlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.DelayedTasks;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class TimedLeaseTest {

  private volatile Supplier<Duration> validity = () -> Duration.ZERO;
  private final DelayedTasks delayed = new DelayedTasks("test");
  private final BlockingQueue<String> calls = new LinkedBlockingQueue<>();

  private final Lease lease =
      (Lease)
          Proxy.newProxyInstance(
              Lease.class.getClassLoader(),
              new Class<?>[] {Lease.class},
              (proxy, method, arguments) ->
                  switch (method.getName()) {
                    case "remainingValidity" -> validity.get();
                    case "isHeld" -> true;
                    case "renewAsync" -> {
                      calls.add("renew");
                      yield CompletableFuture.completedFuture(null);
                    }
                    case "releaseAsync" -> {
                      calls.add("release");
                      yield CompletableFuture.completedFuture(ReleaseOutcome.RELEASED);
                    }
                    default -> throw new UnsupportedOperationException(method.getName());
                  });

  /**
   * Without that renewal, the store could end the lease before a client that is slightly late does.
   */
  @Test
  void anExtendedLeaseIsRenewedIfItWouldEndSoonAfterItsTime() throws Exception {
    long end = System.nanoTime() + Duration.ofSeconds(6).toNanos();
    validity = () -> Duration.ofNanos(end - System.nanoTime());
    Duration time = Duration.ofMillis(5_800);
    TimedLease timed = new TimedLease(lease, time, delayed);
    assertTrue(timed.extend(time));
    assertEquals("renew", calls.poll(), "the extension");
    assertEquals("renew", calls.poll(1, TimeUnit.MINUTES));
  }

  /** If the process died after such a renewal, the store would keep the lock for too long. */
  @Test
  void aLeaseThatIsNotExtendedIsNotRenewed() throws Exception {
    validity = () -> Duration.ofMillis(250);
    var unused = new TimedLease(lease, Duration.ofMillis(200), delayed);
    assertEquals("release", calls.poll(1, TimeUnit.MINUTES));
  }
}
