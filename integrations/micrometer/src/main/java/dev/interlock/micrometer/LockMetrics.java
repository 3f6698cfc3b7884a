package dev.interlock.micrometer;

import static java.util.Objects.requireNonNull;

import dev.interlock.Capability;
import dev.interlock.LockClient;
import dev.interlock.LockKind;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Metrics of a lock client: the meters of {@link LockMeter}.
 *
 * <pre>{@code
 * LockClient client = LockClient.open("redis://localhost:6379");
 * new LockMetrics(client).bindTo(registry);
 * }</pre>
 *
 * <p>The gauges ask the client each time, so they cannot drift. Timers and counters follow the
 * client's events. No event is dropped. Each is counted a moment after it happened, because the
 * client calls its listeners on a thread of its own. Events before {@link #bindTo} are not counted.
 * The threads that acquire and release record nothing.
 *
 * <p>The number of time series is bounded, and does not depend on the number of locks. The timers
 * and counters of a {@link LockKind} are registered together, with zero. Those of exclusive locks
 * are registered at once. Those of another kind, or of a {@linkplain LockGroups group}, are
 * registered with its first event.
 *
 * <p>Bind one {@code LockMetrics} per client. If a registry has several clients of one backend,
 * give each a name that stays the same after a restart. Thread-safe.
 */
public final class LockMetrics implements MeterBinder, AutoCloseable {

  /** The name of a client in the metrics if no name is given. */
  public static final String DEFAULT_CLIENT_NAME = "default";

  private final LockClient client;
  private final Tags tags;
  private final LockGroups groups;
  private final List<ClientMeters> bindings = new ArrayList<>();

  /**
   * Creates the metrics of a client with the name {@value #DEFAULT_CLIENT_NAME}, without groups.
   *
   * @param client the client
   */
  public LockMetrics(LockClient client) {
    this(client, DEFAULT_CLIENT_NAME);
  }

  /**
   * Creates the metrics of a client, without groups.
   *
   * @param client the client
   * @param clientName the client's name in the metrics, such as {@code orders}
   * @throws IllegalArgumentException if the name is blank
   */
  public LockMetrics(LockClient client, String clientName) {
    this(client, clientName, LockGroups.none());
  }

  /**
   * Creates the metrics of a client.
   *
   * @param client the client
   * @param clientName the client's name in the metrics, such as {@code orders}
   * @param groups the groups of its locks; gauges do not distinguish them
   * @throws IllegalArgumentException if the name is blank
   */
  public LockMetrics(LockClient client, String clientName, LockGroups groups) {
    this.client = requireNonNull(client, "client");
    if (clientName.isBlank()) {
      throw new IllegalArgumentException("the client's name in the metrics must not be blank");
    }
    this.tags =
        Tags.of(
            LockMeter.Tag.BACKEND.asString(),
            client.backend().name(),
            LockMeter.Tag.CLIENT.asString(),
            clientName);
    this.groups = requireNonNull(groups, "groups");
  }

  /**
   * Registers the meters, and follows the client from now on. Does not block. May be called for
   * several registries.
   *
   * @param registry where to register them
   * @throws IllegalStateException if the client is closed, or if the registry has meters of another
   *     client with the same backend and name
   */
  @Override
  public synchronized void bindTo(MeterRegistry registry) {
    ClientMeters binding = new ClientMeters(registry, tags, groups);
    try {
      synchronized (LockMetrics.class) {
        if (registry.find(LockMeter.HELD.getName()).tags(tags).meter() != null) {
          throw new IllegalStateException(
              "the registry already has the meters of a lock client with "
                  + tags
                  + "; give each client a name: new LockMetrics(client, \"orders\"). If the other"
                  + " client is closed, close its LockMetrics, too");
        }
        kinds().forEach(kind -> binding.addGauges(client, kind));
      }
      binding.follow(client);
    } catch (RuntimeException e) {
      binding.end();
      throw e;
    }
    bindings.add(binding);
  }

  /**
   * Removes the meters from their registries, and stops following the client. Does not close the
   * client. Leases that end because the client is closed are counted only if its metrics stay open
   * for a moment after that. Closing again does nothing.
   */
  @Override
  public synchronized void close() {
    bindings.forEach(ClientMeters::end);
    bindings.clear();
  }

  private Set<LockKind> kinds() {
    EnumSet<LockKind> kinds = EnumSet.of(LockKind.EXCLUSIVE);
    if (client.backend().capabilities().contains(Capability.READ_WRITE)) {
      kinds.add(LockKind.READ_WRITE);
    }
    if (client.backend().capabilities().contains(Capability.SEMAPHORE)) {
      kinds.add(LockKind.SEMAPHORE);
    }
    return kinds;
  }
}
