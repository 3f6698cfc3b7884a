package dev.interlock.peers;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LossReason;
import dev.interlock.Registration;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A lock that a library has granted, as a {@link Lease}. */
final class AdaptedLease implements Lease {
  private final AdaptedClient client;
  private final String name;
  private final Hold hold;
  private volatile boolean lost;
  private @Nullable ReleaseOutcome outcome;

  AdaptedLease(AdaptedClient client, String name, Hold hold) {
    this.client = client;
    this.name = name;
    this.hold = hold;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public long fencingToken() {
    return hold.token();
  }

  private synchronized boolean released() {
    return outcome != null;
  }

  @Override
  public boolean isHeld() {
    if (lost || released()) {
      return false;
    }
    try {
      return hold.isHeld();
    } catch (Exception e) {
      throw client.translated(name, e);
    }
  }

  @Override
  public Duration remainingValidity() {
    return released() ? Duration.ZERO : hold.validity();
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
      throw client.translated(name, e);
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
    ReleaseOutcome unused = release();
  }

  @Override
  public CompletableFuture<@Nullable Void> renewAsync() {
    throw new NotOfferedException("an asynchronous renewal");
  }

  @Override
  public CompletableFuture<ReleaseOutcome> releaseAsync() {
    throw new NotOfferedException("an asynchronous release that reports its outcome");
  }

  @Override
  public <T> T callWhileHeld(Callable<T> work) throws Exception {
    throw new NotOfferedException("work that is interrupted when the lock is lost");
  }

  @Override
  public CompletableFuture<LeaseLostException> lost() {
    return hold.lost().thenApply(this::loss);
  }

  @Override
  public Registration onEvent(Consumer<? super LockEvent> listener) {
    throw new NotOfferedException("events of locks");
  }
}
