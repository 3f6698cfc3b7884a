package dev.interlock.spi;

import dev.interlock.BackendInfo;
import java.util.List;
import java.util.Set;

/**
 * Opens backends by URI scheme. {@link java.util.ServiceLoader} finds it. It needs a public
 * constructor without parameters, and must not use any resource before {@link #open} is called.
 */
public interface LockProvider {

  /** {@return the URI schemes that this provider serves, in lower case, at least one} */
  Set<String> schemes();

  /**
   * Returns the capabilities and guarantees of a scheme's backend, without connecting.
   *
   * @param scheme one of {@link #schemes()}
   * @return the description
   */
  BackendInfo describe(String scheme);

  /**
   * Returns a complete URI of the scheme, for help and error messages.
   *
   * @param scheme one of {@link #schemes()}
   * @return an example, such as {@code redis://localhost:6379}
   */
  String example(String scheme);

  /**
   * Returns the parameters that URIs of the scheme take besides {@link ClientParameters}. The
   * engine refuses all other parameters. By default there are none.
   *
   * @param scheme one of {@link #schemes()}
   * @return the parameters
   */
  default List<UriParameter<?>> parameters(String scheme) {
    return List.of();
  }

  /**
   * Connects to the store at the URI, whose parameters are all among {@link #parameters} or {@link
   * ClientParameters}.
   *
   * @param uri the URI of the store
   * @param context the services of the engine
   * @return a backend for one client, which closes it
   * @throws dev.interlock.LockConfigurationException if the URI cannot work
   * @throws dev.interlock.LockUnavailableException if the store does not answer
   */
  LockBackend open(LockUri uri, BackendContext context);
}
