package dev.interlock.compare;

import dev.interlock.BackendInfo;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.LockProvider;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Kit;
import dev.interlock.testbed.Deployment;
import java.time.Duration;
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
 * A backend that may take part, before its store has been seen.
 *
 * @param name what it will be called
 * @param scheme the scheme of its URIs
 * @param backend the name of its backend
 * @param uri where the store is; null if it has to be started first
 * @param start starts its servers; null if they are there
 * @param startForFaults starts servers that can be hurt in many ways; null if they are there
 * @param durability what is known about what its servers write to disk
 */
public record Candidate(
    String name,
    String scheme,
    String backend,
    @Nullable String uri,
    @Nullable Supplier<? extends Deployment> start,
    @Nullable Supplier<? extends Deployment> startForFaults,
    String durability) {

  private static final Duration FIRST_ANSWER = Duration.ofSeconds(30);
  private static final String NOT_OURS = "as its owner has set it up; not asked";

  /** Nothing but the process, or a store that is somebody else's. */
  private static final String NONE = "nothing: locks live in the process";

  /** The stores that the user names. */
  public static List<Candidate> at(List<String> uris) {
    List<Candidate> candidates = new ArrayList<>();
    for (String uri : uris) {
      int colon = uri.indexOf(':');
      String scheme = colon < 0 ? "" : uri.substring(0, colon).toLowerCase(Locale.ROOT);
      String backend =
          providers().stream()
              .filter(provider -> provider.schemes().contains(scheme))
              .findFirst()
              .map(provider -> provider.describe(scheme).name())
              .orElseThrow(
                  () ->
                      new LockConfigurationException(
                          "no backend for the scheme \""
                              + scheme
                              + "\"; there are "
                              + providers().stream()
                                  .flatMap(provider -> provider.schemes().stream())
                                  .sorted()
                                  .collect(Collectors.joining(", "))));
      candidates.add(new Candidate(backend, scheme, backend, uri, null, null, NOT_OURS));
    }
    return distinct(candidates);
  }

  /**
   * All backends on the class path for which a server can be started, or whose example URI needs
   * none.
   *
   * @param clusters with larger deployments
   * @param wanted names of candidates, backends or schemes; empty for all
   */
  public static List<Candidate> found(boolean clusters, List<String> wanted) {
    List<Candidate> usual = new ArrayList<>();
    List<Candidate> all = new ArrayList<>();
    Set<String> served = new HashSet<>();
    for (LockProvider provider : providers()) {
      for (ServerSource.Offer offer : offers()) {
        if (provider.schemes().contains(offer.scheme())) {
          BackendInfo info = provider.describe(offer.scheme());
          served.add(info.name());
          Candidate candidate =
              new Candidate(
                  offer.name(),
                  offer.scheme(),
                  info.name(),
                  null,
                  offer.start(),
                  offer.startForFaults(),
                  offer.durability());
          all.add(candidate);
          if (clusters || offer.size() == ServerSource.Size.USUAL) {
            usual.add(candidate);
          }
        }
      }
    }
    for (LockProvider provider : providers()) {
      for (String scheme : provider.schemes().stream().sorted().toList()) {
        BackendInfo info = provider.describe(scheme);
        if (served.add(info.name())) {
          String example = provider.example(scheme);
          Candidate candidate =
              new Candidate(
                  info.name(),
                  scheme,
                  info.name(),
                  example,
                  null,
                  null,
                  example.contains("://") ? NOT_OURS : NONE);
          all.add(0, candidate);
          usual.add(0, candidate);
        }
      }
    }
    return distinct(wanted.isEmpty() ? usual : chosen(all, wanted));
  }

  private static List<Candidate> chosen(List<Candidate> all, List<String> wanted) {
    List<Candidate> chosen = new ArrayList<>();
    for (String name : wanted) {
      List<Candidate> named = all.stream().filter(one -> one.name().equals(name)).toList();
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
                + all.stream().map(Candidate::name).collect(Collectors.joining(", ")));
      }
      named.stream().filter(one -> !chosen.contains(one)).forEach(chosen::add);
    }
    return chosen;
  }

  /** Two of one name get numbers. */
  private static List<Candidate> distinct(List<Candidate> candidates) {
    Set<String> taken = new HashSet<>();
    List<Candidate> distinct = new ArrayList<>();
    for (Candidate one : candidates) {
      String name = one.name();
      for (int number = 2; !taken.add(name); number++) {
        name = one.name() + "-" + number;
      }
      distinct.add(
          new Candidate(
              name,
              one.scheme(),
              one.backend(),
              one.uri(),
              one.start(),
              one.startForFaults(),
              one.durability()));
    }
    return distinct;
  }

  /** Starts its servers, if it has any, and takes a lock to see that they serve. */
  Subject open() throws Exception {
    Deployment deployment = start == null ? null : start.get();
    try {
      String where = deployment == null ? uri : deployment.uri();
      if (where == null) {
        throw new IllegalStateException("neither a URI nor servers");
      }
      return deployment == null ? see(where, null) : seePatiently(where, deployment);
    } catch (Exception e) {
      if (deployment != null) {
        deployment.close();
      }
      throw e;
    }
  }

  /** Our own servers are there, but a driver that was just loaded may be late on a busy machine. */
  private Subject seePatiently(String where, Deployment deployment) throws Exception {
    long end = System.nanoTime() + FIRST_ANSWER.toNanos();
    while (true) {
      try {
        return see(where, deployment);
      } catch (LockUnavailableException e) {
        if (System.nanoTime() - end > 0) {
          throw e;
        }
      }
    }
  }

  private Subject see(String where, @Nullable Deployment deployment) throws Exception {
    Kit kit = Kit.start(Harness.at(where));
    try (LockClient client = LockClient.open(where, Subject.options())) {
      Optional<Lease> lease = client.lock(kit.newName()).tryAcquire(Pairs.PATIENCE);
      lease.ifPresent(Lease::release);
      return new Subject(name, scheme, where, client.endpoint(), kit, deployment, durability);
    } catch (RuntimeException | InterruptedException e) {
      kit.close();
      throw e;
    }
  }

  private static List<LockProvider> providers() {
    return ServiceLoader.load(LockProvider.class).stream()
        .map(ServiceLoader.Provider::get)
        .toList();
  }

  private static List<ServerSource.Offer> offers() {
    return ServiceLoader.load(ServerSource.class).stream()
        .flatMap(provider -> provider.get().offers().stream())
        .toList();
  }
}
