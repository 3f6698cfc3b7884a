package dev.interlock.testbed.server;

import dev.interlock.testbed.install.Settings;
import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.process.TestbedException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
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
  private List<Way> ways = defaultWays();
  private boolean forFaults;

  protected DeploymentBuilder(String kind) {
    this.kind = kind;
  }

  /**
   * Tries only these ways, in this order. The default is all of {@link Way} in their order, or what
   * the setting {@code INTERLOCK_WAYS} (or the system property {@code interlock.ways}) lists,
   * separated by commas.
   */
  public final B using(Way first, Way... others) {
    List<Way> chosen = new ArrayList<>(List.of(first));
    chosen.addAll(List.of(others));
    ways = List.copyOf(chosen);
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
   * Starts the servers and waits until they answer. Which way served is logged once for each kind,
   * at info, with the servers' version. An endpoint that was named but does not serve is not
   * replaced by another way: whoever named it wants that one.
   *
   * @throws NoServerException if none of the ways served; the message lists each with its reason
   */
  public final D start() {
    List<String> reasons = new ArrayList<>();
    List<Throwable> failures = new ArrayList<>();
    for (Way way : ways) {
      try {
        if (way == Way.ENDPOINT && forFaults) {
          throw new UnsuitableWayException("a named endpoint is not ours to hurt");
        }
        D deployment = startBy(way);
        report(deployment);
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
        new NoServerException("no " + kind + " to be had\n" + String.join("\n", reasons));
    failures.forEach(none::addSuppressed);
    throw none;
  }

  /**
   * Starts by one way.
   *
   * @throws UnsuitableWayException if this way cannot serve here
   * @throws TestbedException if it could, but the start failed
   */
  protected abstract D startBy(Way way) throws UnsuitableWayException;

  protected abstract B self();

  /**
   * The endpoint that the user named by a setting.
   *
   * @param configured whether settings were made that an endpoint cannot be given
   * @throws UnsuitableWayException if none is named, or if one made to measure is wanted
   */
  protected static String namedEndpoint(String setting, boolean configured)
      throws UnsuitableWayException {
    Optional<String> uri = Settings.get(setting);
    if (uri.isEmpty()) {
      throw new UnsuitableWayException(Settings.environmentName(setting) + " is not set");
    }
    if (configured) {
      throw new UnsuitableWayException("a named endpoint is not ours to configure");
    }
    return uri.get();
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

  private void report(D deployment) {
    String line = kind + ": " + deployment.how() + ", version " + deployment.version();
    if (REPORTED.add(line)) {
      LOG.info("{}", line);
    }
  }

  private static List<Way> defaultWays() {
    Optional<String> chosen = Settings.get("interlock.ways");
    if (chosen.isEmpty()) {
      return List.of(Way.values());
    }
    List<Way> ways = new ArrayList<>();
    for (String name : chosen.get().split(",")) {
      ways.add(way(name.strip()));
    }
    return List.copyOf(ways);
  }

  private static Way way(String name) {
    for (Way way : Way.values()) {
      if (way.toString().equals(name.toLowerCase(Locale.ROOT))) {
        return way;
      }
    }
    throw new IllegalArgumentException(
        "INTERLOCK_WAYS names \"" + name + "\"; the ways are " + EnumSet.allOf(Way.class));
  }
}
