package dev.interlock.testbed.server;

import dev.interlock.testbed.install.Settings;
import dev.interlock.testbed.install.UnsuitableWayException;
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
 * What is wanted of a deployment before it is started.
 *
 * @param <B> the type of this builder, returned by its own methods
 * @param <D> what {@link #start()} gives
 */
public abstract class DeploymentBuilder<B extends DeploymentBuilder<B, D>, D extends Deployment> {
  private static final Logger LOG = LoggerFactory.getLogger("dev.interlock.testbed.Testbed");
  private static final int BIND_ATTEMPTS = 10;
  private static final Set<String> REPORTED = ConcurrentHashMap.newKeySet();

  private final String kind;
  private final String setting;
  private List<Way> ways = defaultWays();
  private boolean forFaults;

  /** Lines to add to every server's configuration. */
  protected final List<String> extra = new ArrayList<>();

  /**
   * Wants the defaults.
   *
   * @param kind what is started, for messages
   * @param setting the setting that names an endpoint
   */
  protected DeploymentBuilder(String kind, String setting) {
    this.kind = kind;
    this.setting = setting;
  }

  /**
   * Tries only these ways, in this order. The default is all of {@link Way} in their order, or what
   * the setting {@code INTERLOCK_WAYS} (or the system property {@code interlock.ways}) lists,
   * separated by commas.
   */
  public final B using(Way first, Way... others) {
    ways = Stream.concat(Stream.of(first), Stream.of(others)).toList();
    return self();
  }

  /**
   * The deployment will be hurt. An endpoint that the user names is then passed over, since it is
   * not ours to pause or kill.
   */
  public final B forFaults() {
    forFaults = true;
    return self();
  }

  /**
   * Adds lines to the configuration of every server, in the form of its configuration file: {@code
   * redis.conf}, etcd's YAML, {@code zoo.cfg}. There, a key that ZooKeeper does not know becomes
   * the system property of that name with {@code zookeeper.} before it.
   */
  public final B config(String... lines) {
    for (String line : lines) {
      if (line.indexOf('\n') >= 0 || line.indexOf('\r') >= 0) {
        throw new IllegalArgumentException("a configuration line must be one line");
      }
      extra.add(line);
    }
    return self();
  }

  /**
   * Starts the servers and waits until they answer. Logs which way served once for each kind, at
   * info, with the servers' version. An endpoint that was named but does not serve is not replaced
   * by another way: the user asked for that one.
   *
   * @throws NoServerException if none of the ways served; the message lists each with its reason
   */
  public final D start() {
    List<String> reasons = new ArrayList<>();
    List<Throwable> failures = new ArrayList<>();
    for (Way way : ways) {
      try {
        D deployment = way == Way.ENDPOINT ? named() : launch(way);
        String line = kind + ": " + deployment.how() + ", version " + deployment.version();
        if (REPORTED.add(line)) {
          LOG.info("{}", line);
        }
        return deployment;
      } catch (UnsuitableWayException e) {
        reasons.add("  " + way + ": " + e.getMessage());
      } catch (TestbedException e) {
        reasons.add("  " + way + ": " + e.getMessage());
        failures.add(e);
        if (way == Way.ENDPOINT) {
          break;
        }
      }
    }
    NoServerException none =
        new NoServerException("no " + kind + " available\n" + String.join("\n", reasons));
    failures.forEach(none::addSuppressed);
    throw none;
  }

  private D named() throws UnsuitableWayException {
    if (forFaults) {
      throw new UnsuitableWayException("a named endpoint is not ours to hurt");
    }
    Optional<String> uri = Settings.get(setting);
    if (uri.isEmpty()) {
      throw new UnsuitableWayException(Settings.environmentName(setting) + " is not set");
    }
    if (isConfigured()) {
      throw new UnsuitableWayException("a named endpoint is not ours to configure");
    }
    try {
      return named(uri.get());
    } catch (IOException e) {
      throw new TestbedException("the named endpoint does not serve: " + e.getMessage(), e);
    }
  }

  /** {@return whether settings were made that an endpoint cannot be given} */
  protected abstract boolean isConfigured();

  /**
   * Connects to servers that the user named.
   *
   * @throws IOException if they do not serve
   */
  protected abstract D named(String uri) throws IOException;

  /**
   * Starts servers by any way but {@link Way#ENDPOINT}.
   *
   * @throws UnsuitableWayException if this way cannot serve here
   * @throws TestbedException if it could, but the start failed
   */
  protected abstract D launch(Way way) throws UnsuitableWayException;

  @SuppressWarnings("unchecked") // what the type parameter promises
  protected final B self() {
    return (B) this;
  }

  /** Returns a number of servers, unless there are too few of them. */
  protected static int atLeast(int least, int count, String what) {
    if (count < least) {
      throw new IllegalArgumentException(what + " must be at least " + least + ", not " + count);
    }
    return count;
  }

  /** Between the choice of a port and the server's bind another program may take it. */
  protected static <S> S retryOnBindConflict(Supplier<S> start) {
    for (int left = BIND_ATTEMPTS; ; left--) {
      try {
        return start.get();
      } catch (BindConflictException e) {
        if (left == 1) {
          throw e;
        }
      }
    }
  }

  private static List<Way> defaultWays() {
    return Settings.get("interlock.ways")
        .map(chosen -> Stream.of(chosen.split(",")).map(DeploymentBuilder::way).toList())
        .orElse(List.of(Way.values()));
  }

  private static Way way(String name) {
    return Stream.of(Way.values())
        .filter(way -> way.toString().equalsIgnoreCase(name.strip()))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "INTERLOCK_WAYS names \"%s\"; the ways are %s"
                        .formatted(name.strip(), List.of(Way.values()))));
  }
}
