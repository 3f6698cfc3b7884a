package dev.interlock.tck;

import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.TimeSource;
import java.time.Duration;

/**
 * How the kit gets at a backend. For a store that runs somewhere {@code Harness.at(uri)} is enough:
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
 * <p>The kit puts proxies of its own between clients and store, as long as the URI has the form
 * {@code scheme://host:port,…}, and starts other JVMs that open the same URI. What is missing then
 * is power over the server: a harness that {@linkplain #startsServers() starts servers} gives the
 * kit {@linkplain Server#nodes() nodes} to stop and a {@linkplain Server#view() view} of what they
 * hold.
 *
 * <p>A harness that overrides {@link #open} is made again in other JVMs, and therefore has to be a
 * class with a public constructor without parameters, or else rules that need another process are
 * not tested.
 */
@FunctionalInterface
public interface Harness {

  /**
   * Starts a server, or names the one that is there. The kit closes what it gets.
   *
   * @return the server
   * @throws Exception if it cannot be had; the run then fails
   */
  Server start() throws Exception;

  /**
   * Returns whether every {@link #start()} gives another server, which the kit may stop, kill and
   * restart. If not, {@link #start()} is called once, and rules that need a server of their own are
   * not tested.
   *
   * @return false by default
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
   * Opens a client that goes by other clocks than the JVM's.
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
   * Returns how long the kit tolerates delays beyond what the backend declares; see {@link Timing}.
   * On a machine that others use as well it may be made longer for a whole build: it decides when a
   * test gives up waiting. A slack above 4 s also lengthens the TTLs of leases that must be kept
   * alive by renewal, up to 6 s.
   *
   * @return what the system property {@code interlock.tck.slack} says, in whole seconds, for
   *     example {@code -Dinterlock.tck.slack=10}; 2 s without it
   * @throws IllegalArgumentException if the property is anything else
   */
  default Duration slack() {
    return Timing.usualSlack();
  }

  /**
   * Returns the durations that the tests use.
   *
   * @param info what the backend declares
   * @return {@link Timing#of} by default
   */
  default Timing timing(BackendInfo info) {
    return Timing.of(info, slack());
  }

  /**
   * Returns for how long clients are exposed to random faults; see rule FAULT-01.
   *
   * @return 15 s by default
   */
  default Duration storm() {
    return Duration.ofSeconds(15);
  }

  /**
   * A harness for a store that runs already, and over which the kit has no power.
   *
   * @param uri where it is
   * @return the harness
   */
  static Harness at(String uri) {
    return () -> () -> uri;
  }
}
