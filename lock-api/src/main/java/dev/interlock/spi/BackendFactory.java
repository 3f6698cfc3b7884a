package dev.interlock.spi;

/** Opens a backend for a client. */
@FunctionalInterface
public interface BackendFactory {

  /**
   * Connects to the store.
   *
   * @param context the services of the engine
   * @return a backend for one client, which closes it
   * @throws dev.interlock.LockConfigurationException if the settings cannot work
   * @throws dev.interlock.LockUnavailableException if the store does not answer
   */
  LockBackend open(BackendContext context);
}
