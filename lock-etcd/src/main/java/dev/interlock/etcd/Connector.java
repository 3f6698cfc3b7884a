package dev.interlock.etcd;

import com.google.common.util.concurrent.MoreExecutors;
import dev.interlock.spi.DaemonThreads;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.NegotiationType;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.SslContext;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes the connections of one lock client, which share a thread, the addresses of the members, and
 * the token of the user.
 */
final class Connector implements AutoCloseable {

  // gRPC allows no shorter time between two probes of a silent connection.
  private static final Duration KEEP_ALIVE_TIME = Duration.ofSeconds(10);

  // "hasleader" in etcd's api/v3rpc/rpctypes/md.go; the interceptors of api/v3rpc read it.
  private static final Metadata.Key<String> HAS_LEADER =
      Metadata.Key.of("hasleader", Metadata.ASCII_STRING_MARSHALLER);

  private final EndpointResolver resolver;
  private final @Nullable SslContext tls;
  private final @Nullable Login login;
  private final Duration requestTimeout;
  private final List<ManagedChannel> channels = new CopyOnWriteArrayList<>();
  private final EventLoopGroup thread =
      new MultiThreadIoEventLoopGroup(
          1, DaemonThreads.factory("interlock-etcd-io"), NioIoHandler.newFactory());

  Connector(
      EndpointResolver resolver,
      @Nullable SslContext tls,
      @Nullable Login login,
      Duration requestTimeout) {
    this.resolver = resolver;
    this.tls = tls;
    this.login = login;
    this.requestTimeout = requestTimeout;
  }

  /**
   * Creates a client whose requests all end: by their deadline, with their connection, or at once
   * if there is no connection. A request that waited for a connection would be sent too late to be
   * of use.
   */
  @SuppressWarnings("deprecation") // The alternative registers the resolver for the whole process.
  EtcdClient connect() {
    NettyChannelBuilder builder =
        NettyChannelBuilder.forTarget(EndpointResolver.TARGET)
            .nameResolverFactory(resolver)
            .defaultLoadBalancingPolicy("round_robin")
            .eventLoopGroup(thread)
            .channelType(NioSocketChannel.class)
            // The handling of an answer does not block, so it needs no other thread.
            .executor(MoreExecutors.directExecutor())
            .offloadExecutor(MoreExecutors.directExecutor())
            .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) requestTimeout.toMillis())
            .keepAliveTime(KEEP_ALIVE_TIME.toMillis(), TimeUnit.MILLISECONDS)
            .keepAliveTimeout(requestTimeout.toMillis(), TimeUnit.MILLISECONDS)
            .keepAliveWithoutCalls(false)
            .disableServiceConfigLookUp();
    if (tls == null) {
      builder.negotiationType(NegotiationType.PLAINTEXT);
    } else {
      builder.negotiationType(NegotiationType.TLS).sslContext(tls);
    }
    ManagedChannel connections = builder.build();
    channels.removeIf(ManagedChannel::isTerminated);
    channels.add(connections);
    return new GrpcClient(
        connections,
        ClientInterceptors.intercept(
            connections,
            MetadataUtils.newAttachHeadersInterceptor(withLeader()),
            new RequestRules(requestTimeout, login)),
        thread);
  }

  /**
   * Headers that require a member that knows a leader. A member that is cut off from the others
   * then refuses the request at once instead of keeping it until its deadline.
   */
  private static Metadata withLeader() {
    Metadata headers = new Metadata();
    headers.put(HAS_LEADER, "true");
    return headers;
  }

  /**
   * Closes all connections, and waits until they and the thread have ended, because their remaining
   * work must not outlive the class loader.
   */
  @Override
  public void close() {
    long deadlineNanos = System.nanoTime() + requestTimeout.toNanos();
    channels.forEach(ManagedChannel::shutdownNow);
    try {
      for (ManagedChannel connections : channels) {
        boolean unused =
            connections.awaitTermination(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    boolean unused =
        thread
            .shutdownGracefully(0, requestTimeout.toMillis(), TimeUnit.MILLISECONDS)
            .awaitUninterruptibly(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
  }
}
