package dev.interlock.compare.baseline;

import java.time.Duration;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;

/**
 * The baseline of a store: the minimum that its driver has to do for one exclusive entry, without
 * waiting, renewal, tokens or a loss signal. A backend is compared with it on the same server.
 *
 * <p>Implementations are found by {@link ServiceLoader} and need a public constructor without
 * parameters. The constructor must not load classes of the driver, since the driver may be absent.
 */
public interface BareDriver {
  /** The time-out of a request. */
  Duration REQUEST_TIMEOUT = Duration.ofSeconds(5);

  /** {@return the URI schemes of its stores} */
  Set<String> schemes();

  /** {@return a short description of the requests of one cycle} */
  String summary();

  /**
   * Connects to the store.
   *
   * @param uri the URI of the store, as the backend takes it
   * @param threads the number of threads that will use the session concurrently
   * @throws Exception if it cannot connect; the comparison goes on without a baseline
   */
  Session open(String uri, int threads) throws Exception;

  /** A connected driver. */
  interface Session extends Cycler {

    /**
     * {@return the number of keys, nodes or rows on the store}
     *
     * @throws Exception if the store does not answer
     */
    long storedKeys() throws Exception;

    @Override
    void close();
  }

  /** {@return the driver for a scheme; empty if there is none, or if its library is missing} */
  static Optional<BareDriver> of(String scheme) {
    return ServiceLoader.load(BareDriver.class).stream()
        .flatMap(provider -> create(provider).stream())
        .filter(driver -> driver.schemes().contains(scheme))
        .findFirst();
  }

  private static Optional<BareDriver> create(ServiceLoader.Provider<BareDriver> provider) {
    try {
      return Optional.of(provider.get());
    } catch (ServiceConfigurationError | LinkageError e) {
      return Optional.empty();
    }
  }
}
