package dev.interlock.tck;

import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.run.Kit;
import dev.interlock.tck.run.NotTestedException;
import java.time.Duration;

/**
 * Gives the kit access to a backend. For a store that already runs, {@code Harness.at(uri)} is
 * enough:
 *
 * <pre>{@code
 * class MyStoreTest extends LockTck {
 *   @Override
 *   protected Harness harness() {
 *     return Harness.at("mystore://localhost:1234");
 *   }
 * }
 * }</pre>
 *
 * <p>The kit puts its own proxies between clients and store, if the URI has the form {@code
 * scheme://host:port,…}, and starts other JVMs that open the same URI. It cannot stop that store. A
 * harness that {@linkplain #startsServers() starts servers} gives the kit {@linkplain
 * Server#nodes() nodes} to stop and a {@linkplain Server#view() view} of their contents.
 *
 * <p>Other JVMs create a harness that overrides {@link #open} again. It must therefore be a class
 * with a public constructor without parameters; otherwise rules that need another process are not
 * tested.
 */
@FunctionalInterface
public interface Harness {
  /** The default of {@link #maxConnections()}. */
  int DEFAULT_MAX_CONNECTIONS = 100;

  /**
   * Starts a server, or returns one that already runs. The kit closes it.
   *
   * @return the server
   * @throws Exception if there is no server; the run then fails
   */
  Server start() throws Exception;

  /**
   * {@return whether every {@link #start()} returns another server, which the kit may stop, kill
   * and restart; false by default} If not, the kit calls {@link #start()} once, and does not test
   * rules that need a separate server.
   */
  default boolean startsServers() {
    return false;
  }

  /**
   * Opens a client.
   *
   * @param uri a server's URI, or one that leads to it through proxies
   * @param options the client's options
   * @return the client; {@link LockClient#open(String, LockOptions)} by default
   */
  default LockClient open(String uri, LockOptions options) {
    return LockClient.open(uri, options);
  }

  /**
   * Opens a client that uses other clocks than the JVM's.
   *
   * @param uri a server's URI
   * @param options the client's options
   * @param time the clocks
   * @return the client
   */
  default LockClient open(String uri, LockOptions options, TimeSource time) {
    return ClientsWithTimeSource.open(uri, options, time);
  }

  /**
   * Returns what opens the backend of such a client, for rules on what a backend answers to its
   * engine. A harness that overrides {@link #open} without a provider for its URIs has to override
   * this as well; otherwise these rules are not tested.
   *
   * @param uri a server's URI, or one that leads to it through proxies
   * @return by default, the provider on the class path that serves the URI's scheme
   */
  default BackendFactory backend(String uri) {
    LockProvider provider =
        Kit.provider(uri)
            .orElseThrow(
                () ->
                    new NotTestedException(
                        "no provider serves the URI, and the harness does not override backend"));
    return context -> provider.open(LockUri.parse(uri), context);
  }

  /**
   * Returns the delay that the kit tolerates beyond the backend's declarations; see {@link Timing}.
   * On a shared machine it may be longer for a whole build: it decides when a test stops waiting. A
   * slack above 4 s also lengthens the TTLs of leases that renewal must keep alive, up to 6 s.
   *
   * @return the system property {@code interlock.tck.slack}, in whole seconds, for example {@code
   *     -Dinterlock.tck.slack=10}; 2 s without it
   * @throws IllegalArgumentException if the property is anything else
   */
  default Duration slack() {
    return Timing.usualSlack();
  }

  /**
   * {@return the durations that the tests use; {@link Timing#of} by default}
   *
   * @param info the backend's declarations
   */
  default Timing timing(BackendInfo info) {
    return Timing.of(info, slack());
  }

  /** {@return the time for which rule FAULT-01 injects random faults; 15 s by default} */
  default Duration faultDuration() {
    return Duration.ofSeconds(15);
  }

  /**
   * {@return the connections that the store allows the kit, at least 60; 100 by default} With fewer
   * than 100 the kit runs fewer tests at once.
   */
  default int maxConnections() {
    return DEFAULT_MAX_CONNECTIONS;
  }

  /**
   * {@return a harness for a store that already runs, and that the kit cannot stop}
   *
   * @param uri the store's URI
   * @param maxConnections see {@link #maxConnections()}
   */
  static Harness at(String uri, int maxConnections) {
    return new Harness() {
      @Override
      public Server start() {
        return () -> uri;
      }

      @Override
      public int maxConnections() {
        return maxConnections;
      }
    };
  }

  /**
   * {@return a harness for a store that already runs, and that the kit cannot stop}
   *
   * @param uri the store's URI
   */
  static Harness at(String uri) {
    return at(uri, DEFAULT_MAX_CONNECTIONS);
  }
}
