package dev.interlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.Lease;
import dev.interlock.ReleaseOutcome;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TimedLeaseTest {

  /** Or else a client that is late by a moment would find that the store has ended it. */
  @Test
  void aLeaseThatWouldEndSoonAfterItsTimeIsRenewed() throws Exception {
    CompletableFuture<String> first = new CompletableFuture<>();
    long validUntil = System.nanoTime() + Duration.ofSeconds(6).toNanos();
    Lease lease =
        (Lease)
            Proxy.newProxyInstance(
                Lease.class.getClassLoader(),
                new Class<?>[] {Lease.class},
                (proxy, method, arguments) ->
                    switch (method.getName()) {
                      case "remainingValidity" -> Duration.ofNanos(validUntil - System.nanoTime());
                      case "isHeld" -> true;
                      case "renewAsync" -> {
                        first.complete("renewed");
                        yield CompletableFuture.completedFuture(null);
                      }
                      case "releaseAsync" -> {
                        first.complete("released");
                        yield CompletableFuture.completedFuture(ReleaseOutcome.RELEASED);
                      }
                      default -> throw new UnsupportedOperationException(method.getName());
                    });
    var unused = new TimedLease(lease, Duration.ofMillis(5_800));
    assertEquals("renewed", first.get(1, TimeUnit.MINUTES));
  }
}
