package dev.interlock.tck.fault;

import java.time.Duration;
import java.util.List;

/**
 * A fault of a whole {@link Network}: the same fault on every proxy. {@link #close} ends it.
 *
 * @param faults the fault of each proxy
 */
public record Disturbance(List<NetworkFault> faults) implements ActiveFault {

  /** {@return the number of strikes on all proxies together} */
  public long hits() {
    return faults.stream().mapToLong(NetworkFault::hits).sum();
  }

  /** Waits until the fault has struck on at least one proxy. */
  @Override
  public boolean awaitHit(Duration timeout) throws InterruptedException {
    long end = System.nanoTime() + timeout.toNanos();
    Duration slice = Duration.ofMillis(faults.size() == 1 ? timeout.toMillis() + 1 : 5);
    do {
      for (NetworkFault fault : faults) {
        if (fault.awaitHit(slice)) {
          return true;
        }
      }
    } while (System.nanoTime() - end < 0);
    return false;
  }

  @Override
  public void close() {
    faults.forEach(NetworkFault::close);
  }

  @Override
  public String toString() {
    return faults.toString();
  }
}
