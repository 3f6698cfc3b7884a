package dev.interlock.peers;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.run.NotOfferedException;
import dev.interlock.tck.specimen.ForwardingLease;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Adapts a lock that a library has granted to {@link Lease}. */
final class AdaptedLease extends ForwardingLease {
  private final AdaptedClient client;
  private final String name;
  private final Hold hold;
  private volatile boolean lost;
  private @Nullable ReleaseOutcome outcome;

  AdaptedLease(AdaptedClient client, String name, Hold hold) {
    super(Refusals.of(Lease.class, new Object(), AdaptedLease::refusal));
    this.client = client;
    this.name = name;
    this.hold = hold;
  }

  /** {@return the exception of a method that is not overridden here} */
  private static RuntimeException refusal(String method) {
    return switch (method) {
      case "renewAsync" -> new NotOfferedException("an asynchronous renewal");
      case "releaseAsync" ->
          new NotOfferedException("an asynchronous release that reports its outcome");
      case "callWhileHeld" ->
          new NotOfferedException("work that is interrupted when the lock is lost");
      case "onEvent" -> new NotOfferedException("events of locks");
      default -> new UnsupportedOperationException("not adapted: " + method);
    };
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public long fencingToken() {
    return hold.token();
  }

  private synchronized boolean isReleased() {
    return outcome != null;
  }

  @Override
  public boolean isHeld() {
    if (lost || isReleased()) {
      return false;
    }
    try {
      return hold.isHeld();
    } catch (Exception e) {
      throw client.translate(name, e);
    }
  }

  @Override
  public Duration remainingValidity() {
    return isReleased() ? Duration.ZERO : hold.validity();
  }

  @Override
  public Duration effectiveTtl() {
    return hold.ttl();
  }

  private LeaseLostException loss(String detail) {
    return new LeaseLostException(name, LossReason.TAKEN, detail, null);
  }

  private synchronized void checkNotReleased() {
    if (outcome == ReleaseOutcome.ALREADY_LOST) {
      throw loss("the release said so");
    }
    if (outcome != null) {
      throw new IllegalStateException("the lease was released");
    }
  }

  @Override
  public void ensureHeld() {
    checkNotReleased();
    if (!isHeld()) {
      throw loss("the library says that it is not held");
    }
  }

  @Override
  public void renew() throws InterruptedException {
    checkNotReleased();
    try {
      hold.renew();
    } catch (InterruptedException e) {
      throw e;
    } catch (IllegalStateException e) {
      lost = true;
      throw loss("the library refuses the renewal: " + e);
    } catch (Exception e) {
      throw client.translate(name, e);
    }
  }

  @Override
  public synchronized ReleaseOutcome release() {
    if (outcome == null) {
      try {
        outcome = hold.unlock();
      } catch (NotOfferedException e) {
        throw e;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        outcome = ReleaseOutcome.UNKNOWN;
      } catch (Exception e) {
        outcome = ReleaseOutcome.UNKNOWN;
      }
    }
    return outcome;
  }

  @Override
  public void close() {
    release();
  }

  @Override
  public CompletableFuture<LeaseLostException> onLoss() {
    return hold.onLoss().thenApply(this::loss);
  }
}
