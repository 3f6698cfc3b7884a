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
 * The same with waiters in line, who have to ask again and again or lose their place. The first
 * asks more often.
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
    return new PlaceInLine(claim);
  }

  private final class PlaceInLine implements Place {
    private final Claim claim;
    private final WakeUp closed = new WakeUp(store.time());

    PlaceInLine(Claim claim) {
      this.claim = claim;
    }

    @Override
    public Attempt await(Deadline deadline) throws InterruptedException {
      TimeSource time = store.time();
      while (true) {
        long sentAt = time.nanoTime();
        long token = number(Op.TAKE, claim);
        if (token > 0) {
          Grant usual = Grant.forTtl(claim, token);
          return new Attempt.Granted(
              usual.validUntil(sentAt + usual.validityPerConfirmation().toNanos()));
        }
        if (token == -1) {
          throw new LockUnavailableException(
              info().name(), endpoint(), "the place in line was lost", null);
        }
        Deadline pause =
            deadline.orIn(Duration.ofMillis(fault.pauseMillis() / (token == 0 ? 10 : 1)));
        if (closed.await(pause) || deadline.hasPassed()) {
          return new Attempt.Busy();
        }
      }
    }

    @Override
    public void close() {
      closed.signal();
    }
  }
}
