package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.ClientParameters;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockProviders;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.UriParameter;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Finds the backend of a URI, and opens a client on it. */
public final class ClientFactory {

  private ClientFactory() {}

  /**
   * See {@link dev.interlock.spi.ClientsWithTimeSource}.
   *
   * @param uri where the store is
   * @param options the client's options
   * @param time the clocks to use
   * @return a new client
   */
  public static LockClient open(String uri, LockOptions options, TimeSource time) {
    requireNonNull(options, "options");
    LockUri parsed = LockUri.parse(requireNonNull(uri, "uri"));
    LockProvider provider = LockProviders.find().serving(parsed.scheme());
    try {
      List<UriParameter<?>> parameters = new ArrayList<>(ClientParameters.all());
      parameters.addAll(provider.parameters(parsed.scheme()));
      parsed.requireOnly(parameters);
      LockOptions effective = ClientParameters.apply(options, parsed);
      return using(context -> provider.open(parsed, context), effective, time);
    } catch (LinkageError e) {
      throw new LockConfigurationException(
          "the backend for "
              + parsed.scheme()
              + ": URIs cannot be loaded: "
              + problem(e)
              + "; is its driver on the class path, in a version that it supports?",
          e);
    }
  }

  private static String problem(LinkageError e) {
    // The message is a class name, unless the class exists and has failed.
    String missing = e instanceof NoClassDefFoundError ? e.getMessage() : null;
    return missing == null || missing.contains(" ")
        ? e.toString()
        : "the class " + missing.replace('/', '.') + " is missing";
  }

  /**
   * See {@link dev.interlock.spi.ClientsWithTimeSource}.
   *
   * @param factory makes the backend
   * @param options the client's options
   * @param time the clocks to use
   * @return a new client
   */
  public static LockClient using(BackendFactory factory, LockOptions options, TimeSource time) {
    requireNonNull(factory, "factory");
    Platform platform = Platform.on(requireNonNull(time, "time"));
    Labels.findHost(platform);
    Deadline end = Deadline.in(platform, options.openTimeout().orElse(Duration.ZERO));
    Backoff backoff = new Backoff(platform, options.ttl());
    for (boolean first = true; ; first = false) {
      try {
        return new DefaultLockClient(factory, options, platform);
      } catch (LockUnavailableException e) {
        Deadline next = Deadline.in(platform, backoff.next());
        if (next.nanos() - end.nanos() >= 0) {
          throw e;
        }
        if (first) {
          Engine.log.warn(
              "the client cannot be opened yet; trying again for {}: {}",
              options.openTimeout().get(),
              e.getMessage());
        }
        pause(platform, next, e);
      }
    }
  }

  /** Throws the failure if the thread is interrupted, and keeps the interrupt status. */
  private static void pause(Platform platform, Deadline end, LockUnavailableException failure) {
    try {
      var unused = new WakeUp(platform).await(end);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failure;
    }
  }
}
