package dev.interlock.compare.baseline;

import java.time.Duration;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;

/**
 * The baseline of a store: the least that its driver has to do for one exclusive entry, without
 * waiting, renewal, tokens or a loss signal. A backend is compared with it on the same server.
 *
 * <p>Found by {@link ServiceLoader}; needs a public constructor without parameters, which must not
 * touch the driver's classes, since the driver may be absent.
 */
public interface BareDriver {
  /** How long a request may take. */
  Duration REQUEST_TIMEOUT = Duration.ofSeconds(5);

  /** {@return the URI schemes whose stores it speaks to} */
  Set<String> schemes();

  /** {@return what it does for one pair, in a few words} */
  String summary();

  /**
   * Connects.
   *
   * @param uri as the backend takes it
   * @param threads how many threads will use it at once
   * @throws Exception if that is not possible; the comparison goes on without a baseline
   */
  Session open(String uri, int threads) throws Exception;

  /** The driver, connected. */
  interface Session extends Pairs {

    /**
     * {@return how many keys or nodes the store keeps}
     *
     * @throws Exception if the store does not answer
     */
    long storedKeys() throws Exception;

    @Override
    void close();
  }

  /** {@return the driver for a scheme; empty if there is none, or its library is missing} */
  static Optional<BareDriver> of(String scheme) {
    return ServiceLoader.load(BareDriver.class).stream()
        .flatMap(provider -> made(provider).stream())
        .filter(driver -> driver.schemes().contains(scheme))
        .findFirst();
  }

  private static Optional<BareDriver> made(ServiceLoader.Provider<BareDriver> provider) {
    try {
      return Optional.of(provider.get());
    } catch (ServiceConfigurationError | LinkageError e) {
      return Optional.empty();
    }
  }
}
