package dev.interlock.etcd;

import com.google.common.net.InetAddresses;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.LockUri;
import io.grpc.Attributes;
import io.grpc.EquivalentAddressGroup;
import io.grpc.NameResolver;
import io.grpc.StatusOr;
import io.grpc.SynchronizationContext;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Looks up the addresses of the endpoints on a separate thread, because Java cannot limit the time
 * of a look-up. Meanwhile new connections go to the last known addresses.
 */
final class EndpointResolver extends NameResolver.Factory {

  private static final String SCHEME = "interlock";

  /** The target for gRPC, which stands for all endpoints: they may not be expressible as a URI. */
  static final String TARGET = SCHEME + ":///etcd";

  private final List<LockUri.Endpoint> endpoints;
  private final Function<LockUri.Endpoint, InetSocketAddress> lookUp;

  /** Whether all hosts are IP addresses, which need no look-up. */
  private final boolean areAddresses;

  private final ThreadFactory threads = DaemonThreads.factory("interlock-etcd-resolver");
  private volatile @Nullable List<InetSocketAddress> lastAddresses;

  /** The last look-up, which may be under way. */
  @GuardedBy("this")
  private @Nullable CompletableFuture<List<InetSocketAddress>> last;

  EndpointResolver(List<LockUri.Endpoint> endpoints) {
    this(endpoints, endpoint -> new InetSocketAddress(endpoint.host(), endpoint.port()));
  }

  /**
   * For tests.
   *
   * @param lookUp gives the address, or an unresolved one if there is none
   */
  EndpointResolver(
      List<LockUri.Endpoint> endpoints, Function<LockUri.Endpoint, InetSocketAddress> lookUp) {
    this.endpoints = endpoints;
    this.lookUp = lookUp;
    this.areAddresses = endpoints.stream().allMatch(one -> InetAddresses.isInetAddress(one.host()));
    if (areAddresses) {
      resolve();
    }
  }

  @CanIgnoreReturnValue
  private List<InetSocketAddress> resolve() {
    List<InetSocketAddress> previous = lastAddresses;
    List<InetSocketAddress> addresses = new ArrayList<>();
    for (LockUri.Endpoint endpoint : endpoints) {
      InetSocketAddress address = lookUp.apply(endpoint);
      // When the name server fails, the last known address still serves.
      addresses.add(
          address.isUnresolved() && previous != null ? previous.get(addresses.size()) : address);
    }
    lastAddresses = addresses;
    return addresses;
  }

  /** Looks up the addresses, unless that is under way. */
  private synchronized CompletableFuture<List<InetSocketAddress>> lookUp() {
    CompletableFuture<List<InetSocketAddress>> current = last;
    if (current == null || current.isDone()) {
      current =
          CompletableFuture.supplyAsync(this::resolve, task -> threads.newThread(task).start())
              .exceptionally(e -> endpoints.stream().map(EndpointResolver::unresolved).toList());
      last = current;
    }
    return current;
  }

  private static InetSocketAddress unresolved(LockUri.Endpoint endpoint) {
    return InetSocketAddress.createUnresolved(endpoint.host(), endpoint.port());
  }

  @Override
  public String getDefaultScheme() {
    return SCHEME;
  }

  @Override
  public NameResolver newNameResolver(URI target, NameResolver.Args args) {
    return new Resolver(args.getSynchronizationContext());
  }

  /** Supplies the addresses for one channel. */
  private final class Resolver extends NameResolver {

    private final SynchronizationContext context;
    private @Nullable Listener2 listener;
    private volatile boolean closed;

    Resolver(SynchronizationContext context) {
      this.context = context;
    }

    @Override
    public String getServiceAuthority() {
      return "";
    }

    @Override
    public void start(Listener2 newListener) {
      listener = newListener;
      List<InetSocketAddress> last = lastAddresses;
      if (last != null) {
        publish(last);
      }
      refresh();
    }

    @Override
    public void refresh() {
      if (!areAddresses) {
        var unused = lookUp().thenAccept(found -> context.execute(() -> publish(found)));
      }
    }

    private void publish(List<InetSocketAddress> addresses) {
      if (closed || listener == null) {
        return;
      }
      List<EquivalentAddressGroup> groups = new ArrayList<>();
      for (InetSocketAddress address : addresses) {
        // The server's certificate must be for this host.
        Attributes authority =
            Attributes.newBuilder()
                .set(
                    EquivalentAddressGroup.ATTR_AUTHORITY_OVERRIDE,
                    endpoints.get(groups.size()).toString())
                .build();
        groups.add(new EquivalentAddressGroup(address, authority));
      }
      listener.onResult(
          ResolutionResult.newBuilder().setAddressesOrError(StatusOr.fromValue(groups)).build());
    }

    @Override
    public void shutdown() {
      closed = true;
    }
  }
}
