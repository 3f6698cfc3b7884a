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
 * <p>For each login etcd computes a deliberately slow hash, which takes a processor about 80 ms. So
 * the client does not log in for every new connection, but only when it has no token or the server
 * no longer accepts it. Requests without a token wait together for one login. While many clients
 * log in at the same time, an answer takes longer than the request time-out. etcd finishes the hash
 * even if the client times out and asks again, so clients with a shorter time-out might never log
 * in.
 */
final class Login {

  private static final Metadata.Key<String> TOKEN =
      Metadata.Key.of("token", Metadata.ASCII_STRING_MARSHALLER);

  /** 32 s by default. gRPC closes a dead connection after 12 s. */
  private static final int TIMEOUT_IN_REQUEST_TIMEOUTS = 16;

  private static final Status NO_ANSWER =
      Status.DEADLINE_EXCEEDED.withDescription("the login was not answered");

  private final String user;
  private final Supplier<String> password;
  private final Duration timeout;

  /** The last login, which may be in progress; null if a login is needed. */
  private volatile @Nullable Attempt current;

  private volatile long successes;

  /**
   * The channel on which the last login was not answered. One request then fails at once, which
   * reports the silence.
   */
  @GuardedBy("this")
  private @Nullable Channel silent;

  /** Creates the login of a user. The password is read again at each login. */
  Login(String user, Supplier<String> password, Duration requestTimeout) {
    this.user = user;
    this.password = password;
    this.timeout = requestTimeout.multipliedBy(TIMEOUT_IN_REQUEST_TIMEOUTS);
  }

  /** The number of successful logins. */
  long successes() {
    return successes;
  }

  /** Whether requests may have waited for a login rather than for their answers. */
  synchronized boolean mayHaveDelayed(long successesBefore) {
    Attempt last = current;
    return (last != null && !last.token.isDone()) || successes != successesBefore;
  }

  /** A login over a channel, with the token for which requests wait. */
  private record Attempt(Channel channel, CompletableFuture<Metadata> token) {}

  /** Adds the token to one request. */
  final class Credentials extends CallCredentials {

    private final Channel channel;
    private volatile @Nullable Metadata used;

    /** Creates the credentials of a request. If it needs a login, that goes over the channel. */
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
                  // A request on another channel logs in over its own.
                  apply(applier);
                }
              });
    }

    /** Called when the request has ended. Forgets a token that was not accepted. */
    void onClose(Status status) {
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

  /**
   * Returns the last login, or begins one. Returns null if the last login over the channel was not
   * answered.
   */
  private @Nullable Attempt lastOrNew(Channel channel) {
    Attempt last = current;
    if (last != null) {
      return last;
    }
    Attempt attempt = new Attempt(channel, new CompletableFuture<>());
    synchronized (this) {
      last = current;
      if (last != null) {
        return last;
      }
      if (channel == silent) {
        silent = null;
        return null;
      }
      current = attempt;
    }
    try {
      send(attempt);
    } catch (RuntimeException | Error e) {
      // Unless the attempt fails, all requests wait for this login.
      fail(attempt, Status.UNAUTHENTICATED.withCause(e));
    }
    return attempt;
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
