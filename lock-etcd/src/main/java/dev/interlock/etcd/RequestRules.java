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
 * Gives every call except watches a deadline, and handles answers on the threads that read them,
 * because the handlers never block and cost less than a change of threads.
 *
 * <p>Adds the token of the user, if there is one.
 *
 * <p>Records when this process has sent its first call. Until then it may be loading the driver,
 * which on a busy machine takes longer than any answer.
 */
record RequestRules(Duration limit, @Nullable Login login) implements ClientInterceptor {

  private static final ClientStreamTracer.Factory FIRST_CALL_TRACER =
      new ClientStreamTracer.Factory() {
        @Override
        public ClientStreamTracer newClientStreamTracer(
            ClientStreamTracer.StreamInfo info, Metadata headers) {
          return new ClientStreamTracer() {
            @Override
            public void outboundHeaders() {
              hasSentCall = true;
            }
          };
        }
      };

  private static volatile boolean hasSentCall;

  static boolean hasSentCall() {
    return hasSentCall;
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    CallOptions direct = options.withExecutor(MoreExecutors.directExecutor());
    if (!hasSentCall) {
      direct = direct.withStreamTracerFactory(FIRST_CALL_TRACER);
    }
    boolean watch = "etcdserverpb.Watch".equals(method.getServiceName());
    CallOptions limited =
        watch ? direct : direct.withDeadlineAfter(limit.toMillis(), TimeUnit.MILLISECONDS);
    if (login == null) {
      return next.newCall(method, limited);
    }
    Login.Credentials credentials = login.new Credentials(next);
    return new SimpleForwardingClientCall<>(
        next.newCall(method, limited.withCallCredentials(credentials))) {
      @Override
      public void start(Listener<A> listener, Metadata headers) {
        super.start(reporting(listener, credentials), headers);
      }
    };
  }

  private static <A> ClientCall.Listener<A> reporting(
      ClientCall.Listener<A> listener, Login.Credentials credentials) {
    return new SimpleForwardingClientCallListener<>(listener) {
      @Override
      public void onClose(Status status, Metadata trailers) {
        // First, because the listener may repeat the request.
        credentials.onClose(status);
        super.onClose(status, trailers);
      }
    };
  }
}
