package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.TimeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/** Finds the backend for a URI, and puts the engine in front of it. */
public final class ClientFactory {

  private ClientFactory() {}

  /**
   * See {@link LockClient#open(String, LockOptions)}.
   *
   * @param uri where the store is
   * @param options the client's options
   * @return a new client
   */
  public static LockClient open(String uri, LockOptions options) {
    return open(uri, options, TimeSource.system());
  }

  /**
   * See {@link dev.interlock.spi.ClientsWithTimeSource}.
   *
   * @param uri where the store is
   * @param options the client's options
   * @param time the clocks to go by
   * @return a new client
   */
  public static LockClient open(String uri, LockOptions options, TimeSource time) {
    requireNonNull(options, "options");
    LockUri parsed = LockUri.parse(requireNonNull(uri, "uri"));
    LockProvider provider = provider(parsed.scheme());
    LockOptions effective = withParameters(options, parsed);
    return using(
        context -> {
          var backend = provider.open(parsed, context);
          try {
            parsed.requireAllRead();
          } catch (LockConfigurationException e) {
            backend.close();
            throw e;
          }
          return backend;
        },
        effective,
        time);
  }

  /**
   * See {@link LockClient#using}.
   *
   * @param factory makes the backend
   * @param options the client's options
   * @return a new client
   */
  public static LockClient using(BackendFactory factory, LockOptions options) {
    return using(factory, options, TimeSource.system());
  }

  /**
   * See {@link dev.interlock.spi.ClientsWithTimeSource}.
   *
   * @param factory makes the backend
   * @param options the client's options
   * @param time the clocks to go by
   * @return a new client
   */
  public static LockClient using(BackendFactory factory, LockOptions options, TimeSource time) {
    Platform platform = Platform.on(requireNonNull(time, "time"));
    Labels.findHost(platform);
    return new DefaultLockClient(
        requireNonNull(factory, "factory"), requireNonNull(options, "options"), platform);
  }

  /** The parameters that every URI takes; see {@link LockClient#open(String, LockOptions)}. */
  private static LockOptions withParameters(LockOptions options, LockUri uri) {
    LockOptions.Builder builder = options.toBuilder();
    try {
      uri.duration("ttl").ifPresent(builder::ttl);
      uri.duration("requestTimeout").ifPresent(builder::requestTimeout);
      uri.duration("waitTimeout").ifPresent(builder::waitTimeout);
      uri.duration("outageTimeout").ifPresent(builder::outageTimeout);
      uri.duration("maxHold").ifPresent(builder::maxHold);
      uri.duration("pollInterval").ifPresent(builder::pollInterval);
      uri.flag("autoRenew").ifPresent(builder::autoRenew);
      uri.text("holder").ifPresent(builder::holder);
    } catch (IllegalArgumentException e) {
      throw new LockConfigurationException(uri.scheme() + " URI: " + e.getMessage());
    }
    return builder.build();
  }

  private static LockProvider provider(String scheme) {
    List<String> known = new ArrayList<>();
    for (LockProvider provider : providers()) {
      if (provider.schemes().contains(scheme)) {
        return provider;
      }
      provider.schemes().forEach(other -> known.add(provider.example(other)));
    }
    known.sort(null);
    throw new LockConfigurationException(
        "no lock backend serves "
            + scheme
            + ": URIs; those found on the class path take "
            + String.join(", ", known)
            + ". Add the backend's jar, or correct the scheme.");
  }

  /**
   * The providers on the thread's context class path and on this library's own.
   *
   * @return every provider once
   */
  private static List<LockProvider> providers() {
    List<LockProvider> found = new ArrayList<>();
    try {
      ServiceLoader.load(LockProvider.class).forEach(found::add);
      for (LockProvider provider :
          ServiceLoader.load(LockProvider.class, ClientFactory.class.getClassLoader())) {
        if (found.stream().noneMatch(other -> other.getClass() == provider.getClass())) {
          found.add(provider);
        }
      }
    } catch (ServiceConfigurationError e) {
      throw new LockConfigurationException(
          "a lock backend on the class path cannot be loaded: " + e.getMessage(), e);
    }
    return found;
  }
}
