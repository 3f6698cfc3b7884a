package dev.interlock.tck.specimen;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import java.time.Duration;
import java.util.stream.Collectors;

/** A store without a queue, which does not remember who waits. */
final class WithoutQueue extends ForwardingBackend {
  WithoutQueue(LockBackend right) {
    super(right);
  }

  @Override
  public BackendInfo info() {
    BackendInfo info = super.info();
    return BackendInfoBuilder.from(info)
        .capabilities(
            info.capabilities().stream()
                .filter(each -> each != Capability.FIFO && each != Capability.SINGLE_WAKEUP)
                .collect(Collectors.toSet()))
        .build();
  }

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    Attempt attempt = super.tryAcquire(claim, deadline);
    return attempt instanceof Attempt.Busy ? new Attempt.Busy(Duration.ofMillis(5)) : attempt;
  }
}
