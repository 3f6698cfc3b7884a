package dev.interlock.tck.run;

import dev.interlock.BackendInfo;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockProviders;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.StoreView;
import dev.interlock.tck.Timing;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.RedisErrors;
import dev.interlock.tck.fault.RedisKeys;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/**
 * One run of the kit against one backend: the shared server, the backend's declarations, and the
 * durations of the tests. Thread-safe.
 */
public final class Kit implements AutoCloseable {
  private static final int MAX_OPEN_ATTEMPTS = 10;
  private static final Pattern PORT = Pattern.compile("://[^/?]*:(\\d{1,5})");

  private static final Namespace NAMESPACE = Namespace.create(Kit.class);

  /** A test that runs. */
  private record Running(Kit kit, long start) {}

  private final Harness harness;
  private final Server server;
  private final BackendInfo info;
  private final String endpoint;
  private final Timing timing;
  private final Admission admission;
  private final StorePulse pulse;
  private final String run =
      Long.toString(ThreadLocalRandom.current().nextLong(1L << 40), Character.MAX_RADIX);
  private final AtomicLong names = new AtomicLong();
  private @Nullable Boolean staysBehindProxies;

  private Kit(Harness harness, Server server, LockClient client, Admission admission) {
    this.harness = harness;
    this.server = server;
    this.info = client.backend();
    this.endpoint = client.endpoint();
    this.timing = harness.timing(info);
    this.pulse = new StorePulse(client, newName());
    this.admission = admission;
  }

  /**
   * Starts the server, and opens a client that measures how fast it answers.
   *
   * @param harness the harness
   * @return the run
   * @throws IllegalArgumentException if the harness allows too few connections
   * @throws Exception if the server cannot be started, or no client can be opened
   */
  public static Kit start(Harness harness) throws Exception {
    Admission admission = new Admission(harness.maxConnections());
    Server server = harness.start();
    try {
      LockClient client = open(() -> harness.open(server.uri(), LockOptions.defaults()));
      try {
        return new Kit(harness, server, client, admission);
      } catch (RuntimeException e) { // of the harness's own timing
        client.close();
        throw e;
      }
    } catch (RuntimeException e) {
      server.close();
      throw e;
    }
  }

  /** {@return the harness} */
  public Harness harness() {
    return harness;
  }

  /** {@return the shared server} */
  public Server server() {
    return server;
  }

  /** {@return the backend's declarations} */
  public BackendInfo info() {
    return info;
  }

  /** {@return the store's endpoint, without any password} */
  public String endpoint() {
    return endpoint;
  }

  /**
   * Waits until another test may run; on a slow machine, fewer run at once.
   *
   * @param test the test
   * @throws InterruptedException if the thread is interrupted
   */
  public void testStarts(ExtensionContext test) throws InterruptedException {
    admission.enter();
    test.getStore(NAMESPACE).put(Running.class, new Running(this, System.nanoTime()));
  }

  /**
   * Lets another test run, if this one could start.
   *
   * @param test the test
   */
  public static void testEnded(ExtensionContext test) {
    Running running = test.getStore(NAMESPACE).remove(Running.class, Running.class);
    if (running != null) {
      running.kit.admission.leave();
    }
  }

  /**
   * {@return what excuses a backend for what it did during a test, in words}
   *
   * @param test the test
   * @param late whether something came late; only a standstill excuses an unanswered request
   */
  static Optional<String> slownessDuring(ExtensionContext test, boolean late) {
    Running running = test.getStore(NAMESPACE).get(Running.class, Running.class);
    if (running == null) {
      return Optional.empty();
    }
    Pulse machine = Pulse.ofThisJvm();
    return machine
        .standstillSince(running.start)
        .or(() -> running.kit.pulse.standstillSince(running.start))
        .or(() -> late ? machine.slownessSince(running.start) : Optional.empty());
  }

  /** {@return the durations that the tests use} */
  public Timing timing() {
    return timing;
  }

  /**
   * {@return a lock name of letters, digits and hyphens that no other test and no other run uses}
   * No such name is a prefix of another.
   */
  public String newName() {
    return "tck-" + run + "-" + names.incrementAndGet() + "n";
  }

  /**
   * Opens a client of a reachable store. Retries a few times if the store is too busy to answer
   * within the request time-out, or its driver is still being loaded.
   *
   * @param uri the store's URI
   * @param options the client's options
   * @return the client
   * @throws LockException as the backend says
   */
  public LockClient open(String uri, LockOptions options) {
    return open(() -> harness.open(uri, options));
  }

  /**
   * Opens a client that uses other clocks than the JVM's, with the same retries as {@link
   * #open(String, LockOptions)}.
   *
   * @param uri the store's URI
   * @param options the client's options
   * @param time the clocks
   * @return the client
   * @throws LockException as the backend says
   */
  public LockClient open(String uri, LockOptions options, TimeSource time) {
    return open(() -> harness.open(uri, options, time));
  }

  private static LockClient open(Supplier<LockClient> opening) {
    return open(opening, MAX_OPEN_ATTEMPTS);
  }

  static LockClient open(Supplier<LockClient> opening, int maxAttempts) {
    for (int attempt = 1; ; attempt++) {
      try {
        return opening.get();
      } catch (LockUnavailableException e) {
        if (attempt == maxAttempts) {
          throw e;
        }
      }
    }
  }

  /**
   * Counts the entries on the shared server, except those of the names of other tests. Without a
   * {@linkplain Server#view() view}, the keys of a Redis server are counted.
   *
   * @param names the test's own names
   * @return the number of entries, or empty if they cannot be counted
   * @throws Exception if the view fails
   */
  public OptionalLong countEntries(List<String> names) throws Exception {
    Optional<List<String>> entries = entries();
    if (entries.isEmpty()) {
      return OptionalLong.empty();
    }
    String anyName = "tck-" + run + "-";
    return OptionalLong.of(
        entries.get().stream()
            .filter(entry -> !entry.contains(anyName) || names.stream().anyMatch(entry::contains))
            .count());
  }

  private Optional<List<String>> entries() throws Exception {
    Optional<StoreView> view = server.view();
    if (view.isPresent()) {
      return Optional.of(view.get().entries().stream().map(StoreView.Entry::description).toList());
    }
    String uri = server.uri();
    return StoreUri.parse(uri, defaultPort(uri))
        .map(StoreUri::addresses)
        .filter(addresses -> addresses.size() == 1)
        .flatMap(addresses -> RedisKeys.list(addresses.get(0), StoreUri.credentials(uri)));
  }

  /**
   * Puts proxies in front of a server.
   *
   * @param uri the server's URI
   * @return the network, or empty if the URI has no host and port
   * @throws IOException if a proxy cannot listen
   */
  public Optional<Network> network(String uri) throws IOException {
    return Proxies.network(uri, defaultPort(uri));
  }

  /**
   * Puts proxies in front of a server that can answer Redis commands with errors.
   *
   * @param uri the server's URI
   * @return the proxies, or empty if the URI has no host and port
   * @throws IOException if a proxy cannot listen
   */
  public Optional<RedisErrors> redisErrors(String uri) throws IOException {
    return Proxies.redisErrors(uri, defaultPort(uri));
  }

  /**
   * Tests, once per run, whether clients use only the proxies. They do not if servers redirect
   * them, as the members of a cluster do.
   *
   * @return false if a client acquired a lock although all proxies were cut
   * @throws Exception if the test fails
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
        // not even a broken backend grants a lock without a request to the store
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
   * {@return the provider on the class path that serves a URI, or empty}
   *
   * @param uri the URI
   */
  public static Optional<LockProvider> provider(String uri) {
    String scheme = scheme(uri);
    return LockProviders.find().usable().stream()
        .filter(provider -> provider.schemes().contains(scheme))
        .findFirst();
  }

  /**
   * {@return the scheme of a URI in lower case, or an empty text if it has none}
   *
   * @param uri the URI
   */
  public static String scheme(String uri) {
    return uri.substring(0, Math.max(0, uri.indexOf(':'))).toLowerCase(Locale.ROOT);
  }

  /** {@return the default port, from the example of the scheme's provider, or 0 if it has none} */
  private static int defaultPort(String uri) {
    return provider(uri)
        .map(provider -> PORT.matcher(provider.example(scheme(uri))))
        .filter(Matcher::find)
        .map(port -> Integer.parseInt(port.group(1)))
        .orElse(0);
  }

  /** Stops the server, if it was started for the kit. */
  @Override
  public void close() {
    try (server) {
      pulse.close();
    }
  }
}
