package dev.interlock.custom;

import dev.interlock.Capability;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.Set;

/**
 * A backend with a queue of waiters, who must ask regularly or lose their place. The first one asks
 * more often.
 */
final class CustomQueue extends CustomLock implements QueueingBackend {

  static final Duration SILENCE = Duration.ofMillis(1_500);
  static final Duration PAUSE = Duration.ofMillis(400);

  CustomQueue(LockUri uri, BackendContext context, Fault fault) {
    super(
        uri,
        context,
        fault,
        info("custom-queue", Set.of(Capability.FENCING, Capability.FIFO), SILENCE));
  }

  @Override
  public Place join(Claim claim, Deadline deadline) {
    number(Op.JOIN, claim);
    return new QueuePlace(claim);
  }

  private final class QueuePlace implements Place {
    private final Claim claim;
    private final WakeUp onClose = new WakeUp(store.time());

    QueuePlace(Claim claim) {
      this.claim = claim;
    }

    @Override
    public Attempt await(Deadline deadline) throws InterruptedException {
      TimeSource time = store.time();
      while (true) {
        long sentAt = time.nanoTime();
        long token = number(Op.TAKE, claim);
        if (token > 0) {
          return new Attempt.Granted(Grant.forTtl(claim, token).countedFrom(sentAt));
        }
        if (token == -1) {
          throw new LockUnavailableException(
              info().name(), endpoint(), "the place in the queue was lost", null);
        }
        Deadline pause =
            deadline.atMost(Duration.ofMillis(fault.pauseMillis() / (token == 0 ? 10 : 1)));
        if (onClose.await(pause) || deadline.hasPassed()) {
          return new Attempt.Busy();
        }
      }
    }

    @Override
    public void close() {
      onClose.signal();
    }
  }
}
