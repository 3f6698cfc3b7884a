package dev.interlock.testbed.server;

import dev.interlock.testbed.install.Settings;
import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.process.TestbedException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The settings of a deployment before it is started.
 *
 * @param <B> the type of this builder, returned by its own methods
 * @param <D> the type of the deployment
 */
public abstract class DeploymentBuilder<B extends DeploymentBuilder<B, D>, D extends Deployment> {
  private static final Logger LOG = LoggerFactory.getLogger("dev.interlock.testbed.Testbed");
  private static final int BIND_ATTEMPTS = 10;
  private static final Set<String> REPORTED = ConcurrentHashMap.newKeySet();

  private final String kind;
  private final String setting;
  private List<ServerSource> sources = defaultSources();
  private boolean forFaults;

  /** Lines to add to every server's configuration. */
  protected final List<String> extra = new ArrayList<>();

  /**
   * Creates a builder with the default settings.
   *
   * @param kind the kind of servers, for messages
   * @param setting the setting that names an endpoint
   */
  protected DeploymentBuilder(String kind, String setting) {
    this.kind = kind;
    this.setting = setting;
  }

  /**
   * Tries only these sources, in this order. The default is all of {@link ServerSource} in their
   * order, or those that the setting {@code INTERLOCK_WAYS} (or the system property {@code
   * interlock.ways}) lists, separated by commas.
   */
  public final B using(ServerSource first, ServerSource... others) {
    sources = Stream.concat(Stream.of(first), Stream.of(others)).toList();
    return self();
  }

  /**
   * Requires servers that faults can be injected into. An endpoint that the user names is not used
   * then, since the testbed must not pause or kill it.
   */
  public final B forFaults() {
    forFaults = true;
    return self();
  }

  /**
   * Adds lines to the configuration of every server, in the form of its configuration file: {@code
   * redis.conf}, etcd's YAML, {@code zoo.cfg}. ZooKeeper turns an unknown key of {@code zoo.cfg}
   * into a system property, with the prefix {@code zookeeper.}.
   */
  public final B config(String... lines) {
    for (String line : lines) {
      if (line.indexOf('\n') >= 0 || line.indexOf('\r') >= 0) {
        throw new IllegalArgumentException("a configuration line must not contain a line break");
      }
      extra.add(line);
    }
    return self();
  }

  /**
   * Starts the servers, and waits until they answer. Logs the source and the servers' version at
   * info, once for each kind. If the user names an endpoint that does not answer, no other source
   * is tried.
   *
   * @throws NoServerException if none of the sources worked; the message lists the reasons
   */
  public final D start() {
    List<String> reasons = new ArrayList<>();
    List<Throwable> failures = new ArrayList<>();
    for (ServerSource source : sources) {
      try {
        D deployment = source == ServerSource.ENDPOINT ? named() : launch(source);
        String line = kind + ": " + deployment.source() + ", version " + deployment.version();
        if (REPORTED.add(line)) {
          LOG.info("{}", line);
        }
        return deployment;
      } catch (UnsuitableSourceException e) {
        reasons.add("  " + source + ": " + e.getMessage());
      } catch (TestbedException e) {
        reasons.add("  " + source + ": " + e.getMessage());
        failures.add(e);
        if (source == ServerSource.ENDPOINT) {
          break;
        }
      }
    }
    NoServerException none =
        new NoServerException("no " + kind + " available\n" + String.join("\n", reasons));
    failures.forEach(none::addSuppressed);
    throw none;
  }

  private D named() throws UnsuitableSourceException {
    if (forFaults) {
      throw new UnsuitableSourceException("the testbed injects no faults into a named endpoint");
    }
    Optional<String> uri = Settings.get(setting);
    if (uri.isEmpty()) {
      throw new UnsuitableSourceException(Settings.environmentName(setting) + " is not set");
    }
    if (isConfigured()) {
      throw new UnsuitableSourceException("the testbed does not configure a named endpoint");
    }
    try {
      return named(uri.get());
    } catch (IOException e) {
      throw new TestbedException("the named endpoint does not answer: " + e.getMessage(), e);
    }
  }

  /** {@return whether settings were made that a named endpoint cannot be given} */
  protected abstract boolean isConfigured();

  /**
   * Connects to servers that the user named.
   *
   * @throws IOException if they do not answer
   */
  protected abstract D named(String uri) throws IOException;

  /**
   * Starts servers from a source other than {@link ServerSource#ENDPOINT}.
   *
   * @throws UnsuitableSourceException if this source is not available here
   * @throws TestbedException if it is available, but the start failed
   */
  protected abstract D launch(ServerSource source) throws UnsuitableSourceException;

  @SuppressWarnings("unchecked") // guaranteed by the type parameter
  protected final B self() {
    return (B) this;
  }

  /** {@return the count, if it is at least the minimum} */
  protected static int atLeast(int min, int count, String what) {
    if (count < min) {
      throw new IllegalArgumentException(what + " must be at least " + min + ", not " + count);
    }
    return count;
  }

  /** Retries with other ports if another program has taken a port before the server bound it. */
  protected static <S> S retryOnBindConflict(Supplier<S> start) {
    for (int remaining = BIND_ATTEMPTS; ; remaining--) {
      try {
        return start.get();
      } catch (BindConflictException e) {
        if (remaining == 1) {
          throw e;
        }
      }
    }
  }

  private static List<ServerSource> defaultSources() {
    return Settings.get("interlock.ways")
        .map(chosen -> Stream.of(chosen.split(",")).map(DeploymentBuilder::source).toList())
        .orElse(List.of(ServerSource.values()));
  }

  private static ServerSource source(String name) {
    return Stream.of(ServerSource.values())
        .filter(source -> source.toString().equalsIgnoreCase(name.strip()))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "INTERLOCK_WAYS names the source \"%s\", but there are only %s"
                        .formatted(name.strip(), List.of(ServerSource.values()))));
  }
}
