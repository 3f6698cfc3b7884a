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
 * A backend that takes part in a comparison or a storm; nothing has connected to its store yet.
 *
 * @param name unique in a report
 * @param scheme the URI scheme of the backend
 * @param backend the name of its backend
 * @param durability what the servers write to disk, and when, in a few words
 * @param uri the URI of the store; null if its servers must be started first
 * @param servers starts the servers; null if they are already running
 */
public record Contender(
    String name,
    String scheme,
    String backend,
    String durability,
    @Nullable String uri,
    ServerProvider.@Nullable Offer servers) {

  private static final String UNKNOWN_DURABILITY = "as its owner has configured it; not known";
  private static final String IN_MEMORY = "nothing: locks live in the process";

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
      contenders.add(new Contender(backend, scheme, backend, UNKNOWN_DURABILITY, uri, null));
    }
    return numberDuplicates(contenders);
  }

  private static LockConfigurationException unknownScheme(String scheme) {
    return new LockConfigurationException(
        "no backend has the scheme \""
            + scheme
            + "\"; the schemes are "
            + LockProviders.find().usable().stream()
                .flatMap(provider -> provider.schemes().stream())
                .sorted()
                .collect(Collectors.joining(", ")));
  }

  /**
   * {@return the backends on the class path: those for which a {@link ServerProvider} offers
   * servers, and the others with their example URI} A backend without servers, from a package whose
   * other backends have servers, takes part only if it is named.
   *
   * @param clusters whether to include larger deployments
   * @param wanted the names of contenders, backends or schemes; empty for all
   * @throws IllegalArgumentException if a wanted name is unknown
   */
  public static List<Contender> found(boolean clusters, List<String> wanted) {
    List<Contender> defaults = new ArrayList<>();
    List<Contender> all = new ArrayList<>();
    Set<String> backendsSeen = new HashSet<>();
    Set<String> offeredPackages = new HashSet<>();
    for (LockProvider provider : LockProviders.find().usable()) {
      for (ServerProvider.Offer offer : offers()) {
        if (provider.schemes().contains(offer.scheme())) {
          String backend = provider.describe(offer.scheme()).name();
          backendsSeen.add(backend);
          offeredPackages.add(provider.getClass().getPackageName());
          Contender contender =
              new Contender(offer.name(), offer.scheme(), backend, offer.durability(), null, offer);
          all.add(contender);
          if (clusters || offer.size() == ServerProvider.Size.USUAL) {
            defaults.add(contender);
          }
        }
      }
    }
    for (LockProvider provider : LockProviders.find().usable()) {
      for (String scheme : provider.schemes().stream().sorted().toList()) {
        BackendInfo info = provider.describe(scheme);
        if (backendsSeen.add(info.name())) {
          String example = provider.example(scheme);
          String durability = example.contains("://") ? UNKNOWN_DURABILITY : IN_MEMORY;
          Contender contender =
              new Contender(info.name(), scheme, info.name(), durability, example, null);
          if (offeredPackages.contains(provider.getClass().getPackageName())) {
            all.add(contender);
          } else {
            all.add(0, contender);
            defaults.add(0, contender);
          }
        }
      }
    }
    return numberDuplicates(wanted.isEmpty() ? defaults : select(all, wanted));
  }

  /**
   * {@return the first contender with this name, backend or scheme}
   *
   * @throws IllegalArgumentException if there is none
   */
  public static Contender named(String name) {
    return found(/* clusters= */ false, List.of(name)).get(0);
  }

  /**
   * Starts the servers.
   *
   * @return the servers; empty if they were already running
   */
  public Optional<Deployment> startServers() {
    return Optional.ofNullable(servers).map(offer -> offer.start().get());
  }

  /**
   * {@return a supplier that starts servers for fault injection; null if the servers are already
   * running}
   */
  public @Nullable Supplier<? extends Deployment> startForFaults() {
    return servers == null ? null : servers.startForFaults();
  }

  private static List<Contender> select(List<Contender> all, List<String> wanted) {
    List<Contender> selected = new ArrayList<>();
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
      named.stream().filter(one -> !selected.contains(one)).forEach(selected::add);
    }
    return selected;
  }

  private static List<Contender> numberDuplicates(List<Contender> contenders) {
    Set<String> names = new HashSet<>();
    List<Contender> numbered = new ArrayList<>();
    for (Contender one : contenders) {
      String name = one.name;
      for (int number = 2; !names.add(name); number++) {
        name = one.name + "-" + number;
      }
      numbered.add(
          new Contender(name, one.scheme, one.backend, one.durability, one.uri, one.servers));
    }
    return numbered;
  }

  private static List<ServerProvider.Offer> offers() {
    return ServiceLoader.load(ServerProvider.class).stream()
        .flatMap(provider -> provider.get().offers().stream())
        .toList();
  }
}
