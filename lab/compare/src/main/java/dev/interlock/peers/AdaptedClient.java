package dev.interlock.peers;

import dev.interlock.BackendInfo;
import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeasedLock;
import dev.interlock.LockAdmin;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.tck.run.NotOfferedException;
import dev.interlock.tck.specimen.ForwardingClient;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.opentest4j.TestAbortedException;

/** Adapts the client of a library to {@link LockClient}. */
final class AdaptedClient extends ForwardingClient {
  private final Peer peer;
  private final BackendInfo info;
  private final String endpoint;
  private final LockOptions options;
  private volatile boolean closed;

  AdaptedClient(Peer peer, BackendInfo info, String endpoint, LockOptions options) {
    super(Refusals.of(LockClient.class, new Object(), method -> refusal(peer, method)));
    this.peer = peer;
    this.info = info;
    this.endpoint = endpoint;
    this.options = options;
  }

  /** {@return the exception of a method that is not overridden here} */
  private static RuntimeException refusal(Peer peer, String method) {
    return switch (method) {
      case "election" -> new NotOfferedException("an election as part of the lock's interface");
      case "multiLock" -> peer.multiLockRefusal();
      case "leases" -> new NotOfferedException("a list of the leases of a client");
      case "waiters" -> new NotOfferedException("a list of the waiting acquisitions of a client");
      case "onEvent" -> new NotOfferedException("events of locks");
      case "close" -> new NotOfferedException("a close that waits for the holders");
      default -> new UnsupportedOperationException("only locks are adapted, not " + method);
    };
  }

  /** {@return the exception of our API that corresponds to an exception of the library} */
  RuntimeException translate(String name, Throwable thrown) {
    Throwable cause =
        (thrown instanceof ExecutionException || thrown instanceof CompletionException)
                && thrown.getCause() != null
            ? thrown.getCause()
            : thrown;
    if (cause instanceof Error error) {
      throw error;
    }
    boolean isOurs = cause instanceof LockException && !(cause instanceof LockUnavailableException);
    if (isOurs || cause instanceof TestAbortedException) {
      return (RuntimeException) cause;
    }
    if (closed) {
      return new IllegalStateException("the client is closed", cause);
    }
    if (cause instanceof IllegalArgumentException || cause instanceof NullPointerException) {
      return (RuntimeException) cause;
    }
    return new LockUnavailableException(
        name, new LockUnavailableException(info.name(), endpoint, cause.toString(), cause));
  }

  private void checkOpen() {
    if (closed) {
      throw new IllegalStateException("the client is closed");
    }
  }

  @Override
  public LockOptions options() {
    return options;
  }

  @Override
  public DistributedLock lock(String name, Consumer<? super LockOptions.Builder> customizer) {
    checkOpen();
    LockOptions.Builder changed = options.toBuilder();
    customizer.accept(changed);
    return new AdaptedLock(Objects.requireNonNull(name, "name"), Terms.of(changed.build()));
  }

  @Override
  public LockAdmin admin() {
    return new LockAdmin() {
      @Override
      public LockState inspect(String name) {
        try {
          return peer.inspect(name);
        } catch (Exception e) {
          throw translate(name, e);
        }
      }

      @Override
      public Stream<LockState> list(String prefix) {
        throw new NotOfferedException("a listing of locks");
      }

      @Override
      public boolean forceRelease(String name) {
        try {
          return peer.forceUnlock(name);
        } catch (Exception e) {
          throw translate(name, e);
        }
      }

      @Override
      public boolean revoke(String name) {
        throw new NotOfferedException("a revocation");
      }
    };
  }

  @Override
  public BackendInfo backend() {
    return info;
  }

  @Override
  public String endpoint() {
    return endpoint;
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      try {
        peer.close();
      } catch (Exception e) {
        // the kit also closes clients whose servers are gone
      }
    }
  }

  @Override
  public String toString() {
    return info.name() + " at " + endpoint;
  }

  private final class AdaptedLock implements DistributedLock {
    private final String name;
    private final Terms terms;

    AdaptedLock(String name, Terms terms) {
      this.name = name;
      this.terms = terms;
    }

    @Override
    public String name() {
      return name;
    }

    private @Nullable Hold acquireHold(@Nullable Duration atMost) throws InterruptedException {
      checkOpen();
      try {
        return peer.acquire(name, terms, atMost);
      } catch (InterruptedException e) {
        throw e;
      } catch (Exception e) {
        throw translate(name, e);
      }
    }

    private Lease lease(Hold hold) {
      return new AdaptedLease(AdaptedClient.this, name, hold);
    }

    private Optional<Lease> optionalLease(@Nullable Hold hold) {
      return hold == null ? Optional.empty() : Optional.of(lease(hold));
    }

    @Override
    public Lease acquire() throws InterruptedException {
      Hold hold = acquireHold(null);
      if (hold == null) {
        throw new IllegalStateException("an acquisition without a time limit returned no lock");
      }
      return lease(hold);
    }

    @Override
    public Optional<Lease> tryAcquire() {
      try {
        return optionalLease(acquireHold(Duration.ZERO));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return Optional.empty();
      }
    }

    @Override
    public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
      return optionalLease(acquireHold(timeout));
    }

    private CompletableFuture<@Nullable Hold> acquireHoldAsync(@Nullable Duration atMost) {
      checkOpen();
      return peer.acquireAsync(name, terms, atMost);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync() {
      return new AdaptedFuture<>(
          acquireHoldAsync(null),
          hold -> lease(Objects.requireNonNull(hold, "no lock")),
          this::translateFailure);
    }

    @Override
    public CompletableFuture<Optional<Lease>> tryAcquireAsync() {
      return new AdaptedFuture<>(
          acquireHoldAsync(Duration.ZERO), this::optionalLease, this::translateFailure);
    }

    @Override
    public CompletableFuture<Optional<Lease>> tryAcquireAsync(Duration timeout) {
      return new AdaptedFuture<>(
          acquireHoldAsync(timeout), this::optionalLease, this::translateFailure);
    }

    private RuntimeException translateFailure(Throwable thrown) {
      return translate(name, thrown);
    }

    @Override
    public LeasedLock asLock() {
      checkOpen();
      return Refusals.of(
          LeasedLock.class,
          peer.view(name, terms),
          method ->
              new NotOfferedException("the " + method + " of a java.util.concurrent.locks.Lock"));
    }
  }
}
