package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.util.concurrent.MoreExecutors;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import com.google.protobuf.ByteString;
import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.etcd.jetcd.api.AuthenticateResponse;
import io.etcd.jetcd.support.Errors;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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

  private volatile @Nullable Metadata token;

  /** The requests that wait for the login that is under way. */
  @GuardedBy("this")
  private List<Waiting> waiting = new ArrayList<>();

  @GuardedBy("this")
  private boolean underWay;

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
    return underWay || successes != successesBefore;
  }

  /** A request, and what adds the token to it. */
  private record Waiting(
      Channel channel, CallCredentials.MetadataApplier applier, Credentials credentials) {}

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
      Metadata known = token;
      if (known == null) {
        await(new Waiting(channel, applier, this));
      } else {
        apply(known, applier);
      }
    }

    private void apply(Metadata known, MetadataApplier applier) {
      used = known;
      applier.apply(known);
    }

    /** The request has ended. A token that was not accepted is not used again. */
    void ended(Status status) {
      if (Errors.isAlwaysSafeToRetry(status)) {
        forget(used);
      }
    }
  }

  private synchronized void forget(@Nullable Metadata refused) {
    if (token == refused) {
      token = null;
    }
  }

  private void await(Waiting request) {
    Metadata known;
    boolean isFirst = false;
    boolean isSilent = false;
    synchronized (this) {
      known = token;
      if (known == null && !underWay && request.channel() == silent) {
        silent = null;
        isSilent = true;
      } else if (known == null) {
        isFirst = !underWay;
        underWay = true;
        waiting.add(request);
      }
    }
    if (known != null) {
      request.credentials().apply(known, request.applier());
    } else if (isSilent) {
      request.applier().fail(NO_ANSWER);
    } else if (isFirst) {
      authenticate(request.channel());
    }
  }

  private void authenticate(Channel channel) {
    try {
      send(channel);
    } catch (RuntimeException | Error e) {
      // Or else all requests would wait for this login.
      fail(channel, Status.UNAUTHENTICATED.withCause(e));
    }
  }

  private void send(Channel channel) {
    AuthenticateRequest request =
        AuthenticateRequest.newBuilder()
            .setNameBytes(ByteString.copyFrom(user, UTF_8))
            .setPasswordBytes(ByteString.copyFrom(password.get(), UTF_8))
            .build();
    CallOptions options =
        CallOptions.DEFAULT
            .withExecutor(MoreExecutors.directExecutor())
            .withDeadlineAfter(timeout.toMillis(), TimeUnit.MILLISECONDS);
    ClientCalls.asyncUnaryCall(
        ClientInterceptors.intercept(
                channel, MetadataUtils.newAttachHeadersInterceptor(RequestRules.withLeader()))
            .newCall(AuthGrpc.getAuthenticateMethod(), options),
        request,
        new StreamObserver<AuthenticateResponse>() {
          @Override
          public void onNext(AuthenticateResponse response) {
            succeed(response.getToken());
          }

          @Override
          public void onError(Throwable failure) {
            fail(channel, Status.fromThrowable(failure));
          }

          @Override
          public void onCompleted() {}
        });
  }

  private void succeed(String text) {
    Metadata received = new Metadata();
    received.put(TOKEN, text);
    List<Waiting> served;
    synchronized (this) {
      token = received;
      successes++;
      silent = null;
      served = end();
    }
    served.forEach(one -> one.credentials().apply(received, one.applier()));
  }

  /** Requests that have other connections log in over these. */
  private void fail(Channel channel, Status status) {
    List<Waiting> served;
    synchronized (this) {
      if (status.getCode() == Status.Code.DEADLINE_EXCEEDED) {
        silent = channel;
      }
      served = end();
    }
    for (Waiting one : served) {
      if (one.channel() == channel) {
        one.applier().fail(status);
      } else {
        await(one);
      }
    }
  }

  @GuardedBy("this")
  private List<Waiting> end() {
    List<Waiting> served = waiting;
    waiting = new ArrayList<>();
    underWay = false;
    return served;
  }
}
