package dev.interlock.compare;

import java.util.Set;

/**
 * The floor of a store: the least that its driver has to do for one exclusive entry, without
 * waiting, renewal, tokens or a loss signal. A backend is held against it on the same server.
 *
 * <p>Found by {@link java.util.ServiceLoader}; needs a public constructor without parameters, which
 * must not touch the driver's classes, since the driver may be absent.
 */
public interface BareDriver {

  /** The URI schemes whose stores it speaks to. */
  Set<String> schemes();

  /** What it does for one pair, in a few words. */
  String summary();

  /**
   * Connects.
   *
   * @param uri as the backend takes it
   * @param threads how many threads will use it at once
   * @throws Exception if that is not possible; the comparison goes on without a floor
   */
  Session open(String uri, int threads) throws Exception;

  /** The driver, connected. Thread-safe. */
  interface Session extends AutoCloseable {

    /**
     * Takes and gives back one name that nobody else wants.
     *
     * @throws Exception if the store refuses or fails
     */
    void pair(String name) throws Exception;

    /**
     * Counts everything that the store keeps: keys, or nodes.
     *
     * @throws Exception if the store does not tell
     */
    long storedKeys() throws Exception;

    @Override
    void close();
  }
}
