package dev.interlock.tck.specimen;

import dev.interlock.BackendInfo;
import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.memory.MemoryProvider;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.Claim;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * The in-memory reference with a fault. Its long TTLs are shorter than usual, since some faults
 * show only when a TTL ends.
 */
class MemoryMutant implements Harness {
  private static final AtomicInteger STORES = new AtomicInteger();

  /** Inserts the fault between the client and the store, in either direction. */
  interface BackendFault {
    LockBackend open(BackendContext context, Function<BackendContext, QueueingBackend> right);
  }

  private final String uri = "memory:specimen-" + STORES.incrementAndGet();
  private final BackendFault backendFault;
  private final BiFunction<LockClient, TimeSource, LockClient> clientFault;

  private MemoryMutant(
      BackendFault backendFault, BiFunction<LockClient, TimeSource, LockClient> clientFault) {
    this.backendFault = backendFault;
    this.clientFault = clientFault;
  }

  private MemoryMutant(BackendFault backendFault) {
    this(backendFault, (client, time) -> client);
  }

  /** Creates a mutant that other processes need, too. They create its subclass by name. */
  MemoryMutant(
      Function<QueueingBackend, LockBackend> backendFault, UnaryOperator<LockClient> clientFault) {
    this(
        (context, right) -> backendFault.apply(right.apply(context)),
        (client, time) -> clientFault.apply(client));
  }

  /** {@return a harness with a fault of the store, or of the communication with it} */
  static MemoryMutant ofBackend(Function<QueueingBackend, LockBackend> fault) {
    return new MemoryMutant((context, right) -> fault.apply(right.apply(context)));
  }

  /** {@return a harness with a fault that uses the client's clock} */
  static MemoryMutant ofBackend(BiFunction<QueueingBackend, TimeSource, LockBackend> fault) {
    return new MemoryMutant((context, right) -> fault.apply(right.apply(context), context.time()));
  }

  /** {@return a harness with a fault that uses the client's options} */
  static MemoryMutant ofBackendWithOptions(
      BiFunction<QueueingBackend, LockOptions, LockBackend> fault) {
    return new MemoryMutant(
        (context, right) -> fault.apply(right.apply(context), context.options()));
  }

  /** {@return a harness with a fault of a store that does not report losses} */
  static MemoryMutant ofSilentBackend(Function<QueueingBackend, LockBackend> fault) {
    return new MemoryMutant((context, right) -> fault.apply(right.apply(new Silent(context))));
  }

  /** A store that does not report losses. */
  private record Silent(BackendContext context) implements BackendContext {
    @Override
    public LockOptions options() {
      return context.options();
    }

    @Override
    public TimeSource time() {
      return context.time();
    }

    @Override
    public void reportLoss(Claim claim, LossReason reason, String detail) {}
  }

  /** {@return a harness with a fault of the client} */
  static MemoryMutant ofClient(UnaryOperator<LockClient> fault) {
    return ofClient((client, time) -> fault.apply(client));
  }

  /** {@return a harness with a fault of the client that uses its clock} */
  static MemoryMutant ofClient(BiFunction<LockClient, TimeSource, LockClient> fault) {
    return new MemoryMutant((context, right) -> right.apply(context), fault);
  }

  /** {@return a harness with a fault of every lock} */
  static MemoryMutant ofLock(UnaryOperator<DistributedLock> fault) {
    return ofClient(
        client ->
            new ForwardingClient(client) {
              @Override
              protected DistributedLock altered(DistributedLock lock) {
                return fault.apply(lock);
              }
            });
  }

  /** {@return a harness with a fault of every lease} */
  static MemoryMutant ofLease(UnaryOperator<Lease> fault) {
    return ofLock(
        lock ->
            new ForwardingLock(lock) {
              @Override
              protected Lease altered(Lease lease) {
                return fault.apply(lease);
              }
            });
  }

  @Override
  public Server start() {
    return () -> uri;
  }

  @Override
  public LockClient open(String uri, LockOptions options) {
    return open(uri, options, TimeSource.system());
  }

  @Override
  public LockClient open(String uri, LockOptions options, TimeSource time) {
    return clientFault.apply(ClientsWithTimeSource.using(backend(uri), options, time), time);
  }

  @Override
  public BackendFactory backend(String uri) {
    return context ->
        backendFault.open(
            context,
            opened -> (QueueingBackend) new MemoryProvider().open(LockUri.parse(uri), opened));
  }

  @Override
  public Duration faultDuration() {
    return Duration.ofSeconds(3);
  }

  @Override
  public Timing timing(BackendInfo info) {
    return new Timing(
        Duration.ofSeconds(2),
        Duration.ofSeconds(4),
        Duration.ofSeconds(30),
        Duration.ofSeconds(2),
        Duration.ofSeconds(4));
  }
}
