package dev.interlock.etcd;

import com.google.common.util.concurrent.MoreExecutors;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientStreamTracer;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Gives every call an end, but for watches, which are to last. And lets answers be dealt with on
 * the threads that read them: that never blocks, and handing them over costs more than it.
 *
 * <p>Notes, too, when the first call of this process has found a connection: until then a process
 * may be busy loading the driver, which on a machine with much to do takes longer than any answer.
 */
record RequestDeadline(Duration limit) implements ClientInterceptor {

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

  private static volatile boolean oneWasSent;

  /** Whether any call of this process was ever sent. */
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
    return next.newCall(
        method, watch ? direct : direct.withDeadlineAfter(limit.toMillis(), TimeUnit.MILLISECONDS));
  }
}
