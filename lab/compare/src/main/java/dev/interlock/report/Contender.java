package dev.interlock.report;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockProviders;
import dev.interlock.testbed.server.Deployment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A backend that takes part, before its store has been reached.
 *
 * @param name unique in a report
 * @param scheme the scheme of its URIs
 * @param backend the name of its backend
 * @param durability what its servers are known to write to disk
 * @param uri where the store is; null if its servers have to be started first
 * @param servers starts its servers; null if they are running already
 */
public record Contender(
    String name,
    String scheme,
    String backend,
    String durability,
    @Nullable String uri,
    ServerSource.@Nullable Offer servers) {

  private static final String NOT_OURS = "as its owner has configured it; not known";
  private static final String NONE = "nothing: locks live in the process";

  /**
   * {@return a contender for each store that the user names}
   *
   * @throws LockConfigurationException if no backend has the scheme of a URI
   */
  public static List<Contender> at(List<String> uris) {
    List<Contender> contenders = new ArrayList<>();
    for (String uri : uris) {
      int colon = uri.indexOf(':');
      String scheme = colon < 0 ? "" : uri.substring(0, colon).toLowerCase(Locale.ROOT);
      String backend =
          LockProviders.find().usable().stream()
              .filter(provider -> provider.schemes().contains(scheme))
              .findFirst()
              .map(provider -> provider.describe(scheme).name())
              .orElseThrow(() -> unknownScheme(scheme));
      contenders.add(new Contender(backend, scheme, backend, NOT_OURS, uri, null));
    }
    return distinct(contenders);
  }

  private static LockConfigurationException unknownScheme(String scheme) {
    return new LockConfigurationException(
        "no backend for the scheme \""
            + scheme
            + "\"; there are "
            + LockProviders.find().usable().stream()
                .flatMap(provider -> provider.schemes().stream())
                .sorted()
                .collect(Collectors.joining(", ")));
  }

  /**
   * {@return all backends on the class path for which a {@link ServerSource} has servers, and
   * others with their example URI} Of a package for which it has servers the other backends take
   * part only if they are wanted.
   *
   * @param clusters whether larger deployments take part as well
   * @param wanted names of contenders, backends or schemes; empty for all
   * @throws IllegalArgumentException if a wanted name is unknown
   */
  public static List<Contender> found(boolean clusters, List<String> wanted) {
    List<Contender> usual = new ArrayList<>();
    List<Contender> all = new ArrayList<>();
    Set<String> served = new HashSet<>();
    Set<String> offeredPackages = new HashSet<>();
    for (LockProvider provider : LockProviders.find().usable()) {
      for (ServerSource.Offer offer : offers()) {
        if (provider.schemes().contains(offer.scheme())) {
          String backend = provider.describe(offer.scheme()).name();
          served.add(backend);
          offeredPackages.add(provider.getClass().getPackageName());
          Contender contender =
              new Contender(offer.name(), offer.scheme(), backend, offer.durability(), null, offer);
          all.add(contender);
          if (clusters || offer.size() == ServerSource.Size.USUAL) {
            usual.add(contender);
          }
        }
      }
    }
    for (LockProvider provider : LockProviders.find().usable()) {
      for (String scheme : provider.schemes().stream().sorted().toList()) {
        BackendInfo info = provider.describe(scheme);
        if (served.add(info.name())) {
          String example = provider.example(scheme);
          String durability = example.contains("://") ? NOT_OURS : NONE;
          Contender contender =
              new Contender(info.name(), scheme, info.name(), durability, example, null);
          if (offeredPackages.contains(provider.getClass().getPackageName())) {
            all.add(contender);
          } else {
            all.add(0, contender);
            usual.add(0, contender);
          }
        }
      }
    }
    return distinct(wanted.isEmpty() ? usual : chosen(all, wanted));
  }

  /**
   * {@return the first that is found by a name}
   *
   * @throws IllegalArgumentException if there is none
   */
  public static Contender named(String name) {
    return found(/* clusters= */ false, List.of(name)).get(0);
  }

  /** {@return its servers, which have been started; empty if they are running already} */
  public Optional<Deployment> startServers() {
    return Optional.ofNullable(servers).map(offer -> offer.start().get());
  }

  /**
   * {@return what starts servers on which many faults can be injected; null if they are running}
   */
  public @Nullable Supplier<? extends Deployment> startForFaults() {
    return servers == null ? null : servers.startForFaults();
  }

  private static List<Contender> chosen(List<Contender> all, List<String> wanted) {
    List<Contender> chosen = new ArrayList<>();
    for (String name : wanted) {
      List<Contender> named = all.stream().filter(one -> one.name().equals(name)).toList();
      if (named.isEmpty()) {
        named =
            all.stream()
                .filter(one -> one.backend().equals(name) || one.scheme().equals(name))
                .toList();
      }
      if (named.isEmpty()) {
        throw new IllegalArgumentException(
            "there is no backend "
                + name
                + "; the backends are "
                + all.stream().map(Contender::name).collect(Collectors.joining(", ")));
      }
      named.stream().filter(one -> !chosen.contains(one)).forEach(chosen::add);
    }
    return chosen;
  }

  /** Numbers those that have one name in common. */
  private static List<Contender> distinct(List<Contender> contenders) {
    Set<String> taken = new HashSet<>();
    List<Contender> distinct = new ArrayList<>();
    for (Contender one : contenders) {
      String name = one.name;
      for (int number = 2; !taken.add(name); number++) {
        name = one.name + "-" + number;
      }
      distinct.add(
          new Contender(name, one.scheme, one.backend, one.durability, one.uri, one.servers));
    }
    return distinct;
  }

  private static List<ServerSource.Offer> offers() {
    return ServiceLoader.load(ServerSource.class).stream()
        .flatMap(provider -> provider.get().offers().stream())
        .toList();
  }
}
