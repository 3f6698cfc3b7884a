package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.util.concurrent.MoreExecutors;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import com.google.protobuf.ByteString;
import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.etcd.jetcd.support.Errors;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The token of a user, which all connections of a lock client share.
 *
 * <p>For each login etcd computes a hash that is meant to be slow, about 80 ms of a processor. So
 * the client logs in when it has no token, or the server no longer accepts it, and not for every
 * new connection; requests without a token wait for one login together. While many clients log in
 * at the same time, an answer takes longer than the request time-out. As etcd computes it to its
 * end even if the client gives up and asks again, clients with less patience would never get in.
 */
final class Login {

  private static final Metadata.Key<String> TOKEN =
      Metadata.Key.of("token", Metadata.ASCII_STRING_MARSHALLER);

  /** By default 32 s. gRPC ends a connection that is dead after 12 s. */
  private static final int TIMEOUT_IN_REQUEST_TIMEOUTS = 16;

  private static final Status NO_ANSWER =
      Status.DEADLINE_EXCEEDED.withDescription("the login was not answered");

  private final String user;
  private final Supplier<String> password;
  private final Duration timeout;

  /** The last login, which may be under way; null if there is no token, so that one is needed. */
  private volatile @Nullable Attempt current;

  private volatile long successes;

  /** Where the last login was not answered; one request fails for it, which reports the silence. */
  @GuardedBy("this")
  private @Nullable Channel silent;

  /** Makes the login of a user; the password is asked for at each login. */
  Login(String user, Supplier<String> password, Duration requestTimeout) {
    this.user = user;
    this.password = password;
    this.timeout = requestTimeout.multipliedBy(TIMEOUT_IN_REQUEST_TIMEOUTS);
  }

  /** How often the client has logged in. */
  long successes() {
    return successes;
  }

  /** Whether requests may have waited for a login instead of their answers. */
  synchronized boolean mayHaveDelayed(long successesBefore) {
    Attempt last = current;
    return (last != null && !last.token.isDone()) || successes != successesBefore;
  }

  /** A login over a channel, and the token for which requests wait. */
  private record Attempt(Channel channel, CompletableFuture<Metadata> token) {}

  /** Adds the token to one request. */
  final class Credentials extends CallCredentials {

    private final Channel channel;
    private volatile @Nullable Metadata used;

    /** Makes the credentials of a request; a login that it needs goes over the channel. */
    Credentials(Channel channel) {
      this.channel = channel;
    }

    @Override
    public void applyRequestMetadata(RequestInfo info, Executor executor, MetadataApplier applier) {
      apply(applier);
    }

    private void apply(MetadataApplier applier) {
      Attempt login = lastOrNew(channel);
      if (login == null) {
        applier.fail(NO_ANSWER);
        return;
      }
      var unused =
          login.token.whenComplete(
              (token, failure) -> {
                if (failure == null) {
                  used = token;
                  applier.apply(token);
                } else if (login.channel == channel) {
                  applier.fail(Status.fromThrowable(failure));
                } else {
                  // Requests that have other connections log in over these.
                  apply(applier);
                }
              });
    }

    /** The request has ended. A token that was not accepted is not used again. */
    void ended(Status status) {
      if (Errors.isAlwaysSafeToRetry(status)) {
        forget(used);
      }
    }
  }

  private synchronized void forget(@Nullable Metadata refused) {
    Attempt last = current;
    if (last != null && last.token.isDone() && last.token.join() == refused) {
      current = null;
    }
  }

  /** Begins a login if there is no token; null if the last one over the channel was silent. */
  private @Nullable Attempt lastOrNew(Channel channel) {
    Attempt last = current;
    if (last != null) {
      return last;
    }
    Attempt begun = new Attempt(channel, new CompletableFuture<>());
    synchronized (this) {
      last = current;
      if (last != null) {
        return last;
      }
      if (channel == silent) {
        silent = null;
        return null;
      }
      current = begun;
    }
    try {
      send(begun);
    } catch (RuntimeException | Error e) {
      // Or else all requests would wait for this login.
      fail(begun, Status.UNAUTHENTICATED.withCause(e));
    }
    return begun;
  }

  private void send(Attempt login) {
    AuthenticateRequest request =
        AuthenticateRequest.newBuilder()
            .setNameBytes(ByteString.copyFrom(user, UTF_8))
            .setPasswordBytes(ByteString.copyFrom(password.get(), UTF_8))
            .build();
    CallOptions options =
        CallOptions.DEFAULT
            .withExecutor(MoreExecutors.directExecutor())
            .withDeadlineAfter(timeout.toMillis(), TimeUnit.MILLISECONDS);
    var unused =
        GrpcClient.send(login.channel, AuthGrpc.getAuthenticateMethod(), options, request)
            .whenComplete(
                (answer, failure) -> {
                  if (failure == null) {
                    succeed(login, answer.getToken());
                  } else {
                    fail(login, Status.fromThrowable(failure));
                  }
                });
  }

  private void succeed(Attempt login, String text) {
    Metadata token = new Metadata();
    token.put(TOKEN, text);
    synchronized (this) {
      successes++;
      silent = null;
    }
    login.token.complete(token);
  }

  private void fail(Attempt login, Status status) {
    synchronized (this) {
      current = null;
      if (status.getCode() == Status.Code.DEADLINE_EXCEEDED) {
        silent = login.channel;
      }
    }
    login.token.completeExceptionally(status.asRuntimeException());
  }
}
