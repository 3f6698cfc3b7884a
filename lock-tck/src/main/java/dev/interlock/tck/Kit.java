package dev.interlock.tck;

import dev.interlock.BackendInfo;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockProviders;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.RedisErrors;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One run of the kit against one backend: the server that most tests share, what the backend
 * declares, and the durations that follow from it. Thread-safe.
 */
public final class Kit implements AutoCloseable {
  private static final int MOST_TRIES = 10;
  private static final Pattern PORT = Pattern.compile("://[^/?]*:(\\d{1,5})");

  private final Harness harness;
  private final Server server;
  private final BackendInfo info;
  private final String endpoint;
  private final Timing timing;
  private final String run =
      Long.toString(ThreadLocalRandom.current().nextLong(1L << 40), Character.MAX_RADIX);
  private final AtomicLong names = new AtomicLong();
  private @Nullable Boolean staysBehindProxies;

  private Kit(Harness harness, Server server, BackendInfo info, String endpoint) {
    this.harness = harness;
    this.server = server;
    this.info = info;
    this.endpoint = endpoint;
    this.timing = harness.timing(info);
  }

  /**
   * Starts the server, and opens a client to see that it is there.
   *
   * @param harness the harness
   * @return the run
   * @throws Exception if the server cannot be started, or no client opened
   */
  public static Kit start(Harness harness) throws Exception {
    Server server = harness.start();
    try (LockClient client = open(() -> harness.open(server.uri(), LockOptions.defaults()))) {
      return new Kit(harness, server, client.backend(), client.endpoint());
    } catch (RuntimeException e) {
      server.close();
      throw e;
    }
  }

  /**
   * Returns the harness.
   *
   * @return the harness
   */
  public Harness harness() {
    return harness;
  }

  /**
   * Returns the server that the tests share.
   *
   * @return the server
   */
  public Server server() {
    return server;
  }

  /**
   * Returns what the backend declares.
   *
   * @return its description
   */
  public BackendInfo info() {
    return info;
  }

  /**
   * Returns where the store is.
   *
   * @return the endpoint, without any password
   */
  public String endpoint() {
    return endpoint;
  }

  /**
   * Returns the durations that the tests use.
   *
   * @return the durations
   */
  public Timing timing() {
    return timing;
  }

  /**
   * Makes a lock name that no other test and no other run uses, out of letters, digits and hyphens.
   * None is the beginning of another one.
   *
   * @return a new name
   */
  public String newName() {
    return "tck-" + run + "-" + names.incrementAndGet() + "n";
  }

  /**
   * Opens a client of a store that can be reached. One that is too busy to answer within the
   * request time-out, or whose driver is still being loaded, is asked again, a few times.
   *
   * @param uri the store's URI
   * @param options how the client is to behave
   * @return the client
   * @throws LockException as the backend says
   */
  public LockClient open(String uri, LockOptions options) {
    return open(() -> harness.open(uri, options));
  }

  /**
   * Opens a client that goes by other clocks than the JVM's, as {@link #open(String, LockOptions)}
   * does.
   *
   * @param uri the store's URI
   * @param options how the client is to behave
   * @param time the clocks
   * @return the client
   * @throws LockException as the backend says
   */
  public LockClient open(String uri, LockOptions options, TimeSource time) {
    return open(() -> harness.open(uri, options, time));
  }

  private static LockClient open(Supplier<LockClient> opening) {
    for (int tries = 1; ; tries++) {
      try {
        return opening.get();
      } catch (LockUnavailableException e) {
        if (tries == MOST_TRIES) {
          throw e;
        }
      }
    }
  }

  /**
   * Puts proxies in front of a server.
   *
   * @param uri the server's URI
   * @return the network, or empty if the URI has no addresses
   * @throws IOException if a proxy cannot listen
   */
  public Optional<Network> network(String uri) throws IOException {
    return Network.inFrontOf(uri, defaultPort(uri));
  }

  /**
   * Puts proxies in front of a server that can answer commands of the Redis protocol by errors.
   *
   * @param uri the server's URI
   * @return the way through them, or empty if the URI has no addresses
   * @throws IOException if a proxy cannot listen
   */
  public Optional<RedisErrors> redisErrors(String uri) throws IOException {
    return RedisErrors.inFrontOf(uri, defaultPort(uri));
  }

  /**
   * Finds out, once, whether clients that are sent through proxies stay behind them. They do not
   * where servers tell clients to go elsewhere, as the members of a cluster do.
   *
   * @return false if a client got a lock although all proxies were cut
   * @throws Exception if it cannot be found out
   */
  public synchronized boolean staysBehindProxies() throws Exception {
    if (staysBehindProxies == null) {
      staysBehindProxies = probeProxies();
    }
    return staysBehindProxies;
  }

  private boolean probeProxies() throws Exception {
    LockOptions options =
        LockOptions.builder().ttl(timing.longTtl()).requestTimeout(timing.requestTimeout()).build();
    Optional<Network> found = network(server.uri());
    if (found.isEmpty()) {
      return false;
    }
    try (Network network = found.get();
        LockClient client = open(network.uri(), options)) {
      network.cut();
      try {
        // However wrong the backend is: nothing is granted without asking the store.
        Optional<Lease> lease = client.lock(newName()).tryAcquire();
        lease.ifPresent(Lease::release);
        return lease.isEmpty();
      } catch (LockException e) {
        return true;
      } finally {
        network.heal();
      }
    }
  }

  /**
   * The port of addresses without one, as the provider's own example shows it; 0 if it does not.
   */
  private static int defaultPort(String uri) {
    int colon = uri.indexOf(':');
    String scheme = colon < 0 ? "" : uri.substring(0, colon).toLowerCase(Locale.ROOT);
    for (LockProvider provider : LockProviders.find().usable()) {
      if (provider.schemes().contains(scheme)) {
        return portOf(provider.example(scheme));
      }
    }
    return 0;
  }

  private static int portOf(@Nullable String example) {
    if (example == null) {
      return 0;
    }
    Matcher matcher = PORT.matcher(example);
    return matcher.find() ? Integer.parseInt(matcher.group(1)) : 0;
  }

  /** Stops the server, if it was started for the kit. */
  @Override
  public void close() {
    server.close();
  }
}
