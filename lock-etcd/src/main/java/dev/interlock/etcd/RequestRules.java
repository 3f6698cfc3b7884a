package dev.interlock.etcd;

import com.google.common.util.concurrent.MoreExecutors;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientStreamTracer;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Gives every call except watches a deadline, and handles answers on the threads that read them:
 * the handlers never block, and cost less than a change of threads.
 *
 * <p>Requires a member that knows a leader: a member that is cut off from the others then fails at
 * once, and does not keep the request until its deadline.
 *
 * <p>Adds the token of the user, if there is one.
 *
 * <p>Records when the first call of this process found a connection. Until then the process may be
 * loading the driver, which on a busy machine takes longer than any answer.
 */
record RequestRules(Duration limit, @Nullable Login login) implements ClientInterceptor {

  private static final ClientStreamTracer.Factory FIRST_SENT =
      new ClientStreamTracer.Factory() {
        @Override
        public ClientStreamTracer newClientStreamTracer(
            ClientStreamTracer.StreamInfo info, Metadata headers) {
          return new ClientStreamTracer() {
            @Override
            public void outboundHeaders() {
              oneWasSent = true;
            }
          };
        }
      };

  // "hasleader" in etcd's api/v3rpc/rpctypes/md.go, looked at in the interceptors of api/v3rpc.
  private static final Metadata.Key<String> HAS_LEADER =
      Metadata.Key.of("hasleader", Metadata.ASCII_STRING_MARSHALLER);

  private static volatile boolean oneWasSent;

  /** Headers with which a member that is cut off from the others refuses at once. */
  static Metadata withLeader() {
    Metadata headers = new Metadata();
    headers.put(HAS_LEADER, "true");
    return headers;
  }

  /** Whether this process has sent a call. */
  static boolean oneWasSent() {
    return oneWasSent;
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    CallOptions direct = options.withExecutor(MoreExecutors.directExecutor());
    if (!oneWasSent) {
      direct = direct.withStreamTracerFactory(FIRST_SENT);
    }
    boolean watch = "etcdserverpb.Watch".equals(method.getServiceName());
    CallOptions limited =
        watch ? direct : direct.withDeadlineAfter(limit.toMillis(), TimeUnit.MILLISECONDS);
    Login.Credentials credentials = login == null ? null : login.new Credentials(next);
    CallOptions known = credentials == null ? limited : limited.withCallCredentials(credentials);
    return new SimpleForwardingClientCall<>(next.newCall(method, known)) {
      @Override
      public void start(Listener<A> listener, Metadata headers) {
        if (!headers.containsKey(HAS_LEADER)) {
          headers.put(HAS_LEADER, "true");
        }
        super.start(credentials == null ? listener : reporting(listener, credentials), headers);
      }
    };
  }

  private static <A> ClientCall.Listener<A> reporting(
      ClientCall.Listener<A> listener, Login.Credentials credentials) {
    return new SimpleForwardingClientCallListener<>(listener) {
      @Override
      public void onClose(Status status, Metadata trailers) {
        // First, because the listener may repeat the request.
        credentials.ended(status);
        super.onClose(status, trailers);
      }
    };
  }
}
