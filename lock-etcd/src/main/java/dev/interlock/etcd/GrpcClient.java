package dev.interlock.etcd;

import com.google.protobuf.ByteString;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Txn;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.api.ClusterGrpc;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.LeaseGrantRequest;
import io.etcd.jetcd.api.LeaseGrpc;
import io.etcd.jetcd.api.LeaseKeepAliveRequest;
import io.etcd.jetcd.api.LeaseRevokeRequest;
import io.etcd.jetcd.api.LeaseTimeToLiveRequest;
import io.etcd.jetcd.api.MemberListRequest;
import io.etcd.jetcd.api.WatchCreateRequest;
import io.etcd.jetcd.api.WatchGrpc;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.api.WatchResponse;
import io.etcd.jetcd.cluster.MemberListResponse;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.lease.LeaseGrantResponse;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.lease.LeaseRevokeResponse;
import io.etcd.jetcd.lease.LeaseTimeToLiveResponse;
import io.etcd.jetcd.op.TxnImpl;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.support.Errors;
import io.etcd.jetcd.support.Requests;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests over connections of its own. It does not use jetcd's client, which repeats
 * requests, keeps threads after it is closed, and does not let its user look up hosts.
 *
 * <p>Only one thread calls gRPC. In threads of the program Netty would leave thread-locals, which
 * keep the class loader alive for good.
 */
final class GrpcClient implements EtcdClient {

  private final ManagedChannel connections;
  private final Channel calls;
  private final Executor thread;

  /**
   * Creates a client.
   *
   * @param connections the channel, which is closed with the client
   * @param calls the same channel with the interceptors for every call
   * @param thread the thread that calls gRPC
   */
  GrpcClient(ManagedChannel connections, Channel calls, Executor thread) {
    this.connections = connections;
    this.calls = calls;
    this.thread = thread;
  }

  @Override
  public CompletableFuture<GetResponse> get(ByteSequence key, GetOption option) {
    return call(
        KVGrpc.getRangeMethod(),
        Requests.mapRangeRequest(key, option, ByteSequence.EMPTY),
        answer -> new GetResponse(answer, ByteSequence.EMPTY));
  }

  @Override
  public Txn txn() {
    return TxnImpl.newTxn(
        request ->
            call(
                KVGrpc.getTxnMethod(),
                request,
                answer -> new TxnResponse(answer, ByteSequence.EMPTY)),
        ByteSequence.EMPTY);
  }

  @Override
  public CompletableFuture<LeaseGrantResponse> grant(long seconds) {
    return call(
        LeaseGrpc.getLeaseGrantMethod(),
        LeaseGrantRequest.newBuilder().setTTL(seconds).build(),
        LeaseGrantResponse::new);
  }

  /** Sends a single message of the stream, to which etcd sends a single answer. */
  @Override
  public CompletableFuture<LeaseKeepAliveResponse> keepAliveOnce(long lease) {
    return call(
        LeaseGrpc.getLeaseKeepAliveMethod(),
        LeaseKeepAliveRequest.newBuilder().setID(lease).build(),
        answer -> {
          if (answer.getTTL() == 0) {
            throw Status.NOT_FOUND.withDescription("the lease is gone").asRuntimeException();
          }
          return new LeaseKeepAliveResponse(answer);
        });
  }

  @Override
  public CompletableFuture<LeaseTimeToLiveResponse> timeToLive(long lease) {
    return call(
        LeaseGrpc.getLeaseTimeToLiveMethod(),
        LeaseTimeToLiveRequest.newBuilder().setID(lease).build(),
        LeaseTimeToLiveResponse::new);
  }

  @Override
  public CompletableFuture<LeaseRevokeResponse> revoke(long lease) {
    return call(
        LeaseGrpc.getLeaseRevokeMethod(),
        LeaseRevokeRequest.newBuilder().setID(lease).build(),
        LeaseRevokeResponse::new);
  }

  @Override
  public CompletableFuture<MemberListResponse> listMember() {
    return call(
        ClusterGrpc.getMemberListMethod(),
        MemberListRequest.getDefaultInstance(),
        MemberListResponse::new);
  }

  private <Q, A, R> CompletableFuture<R> call(
      MethodDescriptor<Q, A> method, Q request, Function<A, R> conversion) {
    Function<Channel, CompletableFuture<A>> call =
        channel -> send(channel, method, CallOptions.DEFAULT, request);
    return CompletableFuture.completedFuture(calls)
        .thenComposeAsync(call, thread)
        .exceptionallyCompose(
            failure ->
                // A request whose token was refused was not carried out. It is sent again with
                // another token.
                Errors.isAlwaysSafeToRetry(Status.fromThrowable(failure))
                    ? call.apply(calls)
                    : CompletableFuture.failedFuture(failure))
        .thenApply(conversion);
  }

  /** Sends a request that has one answer. */
  static <Q, A> CompletableFuture<A> send(
      Channel channel, MethodDescriptor<Q, A> method, CallOptions options, Q request) {
    CompletableFuture<A> result = new CompletableFuture<>();
    ClientCalls.asyncUnaryCall(
        channel.newCall(method, options),
        request,
        new StreamObserver<A>() {
          @Override
          public void onNext(A answer) {
            result.complete(answer);
          }

          @Override
          public void onError(Throwable failure) {
            result.completeExceptionally(failure);
          }

          @Override
          public void onCompleted() {
            // Does nothing after an answer.
            result.completeExceptionally(
                Status.INTERNAL.withDescription("no answer").asRuntimeException());
          }
        });
    return result;
  }

  @Override
  public Runnable watchDeletions(KeyRange range, Watch.Listener listener) {
    WatchCreateRequest.Builder creation =
        WatchCreateRequest.newBuilder()
            .setKey(ByteString.copyFrom(range.from().getBytes()))
            .addFilters(WatchCreateRequest.FilterType.NOPUT);
    if (range.end() != null) {
      creation.setRangeEnd(ByteString.copyFrom(range.end().getBytes()));
    }
    WatchCall call = new WatchCall(listener);
    WatchRequest request = WatchRequest.newBuilder().setCreateRequest(creation).build();
    thread.execute(() -> call.start(request));
    return call::end;
  }

  /** A watch, which has a stream of its own. */
  private final class WatchCall implements StreamObserver<WatchResponse> {

    private final Watch.Listener listener;
    private @Nullable ClientCall<WatchRequest, WatchResponse> call;
    private volatile boolean closed;

    WatchCall(Watch.Listener listener) {
      this.listener = listener;
    }

    private void start(WatchRequest request) {
      if (closed) {
        return;
      }
      try {
        call = calls.newCall(WatchGrpc.getWatchMethod(), CallOptions.DEFAULT);
        ClientCalls.asyncBidiStreamingCall(call, this).onNext(request);
      } catch (RuntimeException e) {
        onError(e);
      }
    }

    @Override
    public void onNext(WatchResponse response) {
      if (response.getCanceled()) {
        onError(Status.CANCELLED.withDescription(response.getCancelReason()).asException());
        cancel();
      } else if (!closed) {
        listener.onNext(new io.etcd.jetcd.watch.WatchResponse(response));
      }
    }

    @Override
    public void onError(Throwable failure) {
      if (!closed) {
        listener.onError(failure);
      }
    }

    @Override
    public void onCompleted() {
      if (!closed) {
        listener.onCompleted();
      }
    }

    void end() {
      closed = true;
      try {
        thread.execute(this::cancel);
      } catch (RuntimeException e) {
        // The client and its connections are closed.
      }
    }

    private void cancel() {
      if (call != null) {
        call.cancel("the watch has ended", null);
      }
    }
  }

  @Override
  public void close() {
    connections.shutdownNow();
  }
}
