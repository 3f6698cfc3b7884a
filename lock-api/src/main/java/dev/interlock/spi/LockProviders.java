package dev.interlock.spi;

import dev.interlock.LockConfigurationException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The backends on the class path or module path, as found by the thread's context class loader and
 * by that of this library. A provider that cannot be loaded, for example because its driver is
 * missing, does not affect the others.
 */
public final class LockProviders {

  /** A backend of this project: its artifact, one of its classes, and its schemes. */
  private record Artifact(String id, String type, Set<String> schemes) {
    boolean isPresent() {
      String file = type.replace('.', '/') + ".class";
      ClassLoader context = Thread.currentThread().getContextClassLoader();
      return LockProviders.class.getResource("/" + file) != null
          || (context != null && context.getResource(file) != null);
    }
  }

  // For a message that names the dependency that a scheme needs.
  private static final List<Artifact> ARTIFACTS =
      List.of(
          new Artifact(
              "lock-redis",
              "dev.interlock.redis.RedisProvider",
              Set.of(
                  "redis",
                  "rediss",
                  "redis-cluster",
                  "rediss-cluster",
                  "redis-sentinel",
                  "rediss-sentinel")),
          new Artifact(
              "lock-redlock",
              "dev.interlock.redlock.RedlockProvider",
              Set.of("redlock", "redlocks")),
          new Artifact("lock-etcd", "dev.interlock.etcd.EtcdProvider", Set.of("etcd", "etcds")),
          new Artifact(
              "lock-zookeeper", "dev.interlock.zookeeper.ZooKeeperProvider", Set.of("zookeeper")),
          new Artifact(
              "lock-jdbc",
              "dev.interlock.jdbc.JdbcProvider",
              Set.of("postgresql", "mariadb", "mysql", "h2")));

  private static final String SERVICE_FILE = "META-INF/services/" + LockProvider.class.getName();

  private final List<LockProvider> providers = new ArrayList<>();
  private final TreeSet<String> problems = new TreeSet<>();

  private LockProviders() {}

  /** {@return the backends, as found by this call} */
  public static LockProviders find() {
    LockProviders found = new LockProviders();
    found.addAll(ServiceLoader.load(LockProvider.class));
    found.addAll(ServiceLoader.load(LockProvider.class, LockProviders.class.getClassLoader()));
    return found;
  }

  private void addAll(ServiceLoader<LockProvider> loader) {
    Iterator<LockProvider> iterator = loader.iterator();
    while (true) {
      try {
        if (!iterator.hasNext()) {
          return;
        }
        LockProvider provider = iterator.next();
        if (providers.stream().noneMatch(other -> other.getClass() == provider.getClass())) {
          providers.add(provider);
        }
      } catch (ServiceConfigurationError | LinkageError e) { // the iterator continues after it
        problems.add(reason(e));
      }
    }
  }

  private static String reason(Throwable failure) {
    String message =
        String.valueOf(failure.getMessage()).replace(LockProvider.class.getName() + ": ", "");
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    if (root instanceof NoClassDefFoundError || root instanceof ClassNotFoundException) {
      String missing =
          "the class " + String.valueOf(root.getMessage()).replace('/', '.') + " is missing";
      // Newer JDKs do not say which provider needs the class.
      return failure instanceof LinkageError ? missing : message + ": " + missing;
    }
    return root == failure ? message : message + ": " + root;
  }

  /** {@return the providers that were loaded} */
  public List<LockProvider> usable() {
    return List.copyOf(providers);
  }

  /** {@return a line for each provider that cannot be loaded, with its name and the reason} */
  public List<String> problems() {
    return List.copyOf(problems);
  }

  /**
   * Returns the provider that serves a scheme.
   *
   * @param scheme the scheme, in lower case
   * @return the provider
   * @throws LockConfigurationException if there is none; the message says which dependency to add,
   *     which backends were found, and which cannot be loaded
   */
  public LockProvider serving(String scheme) {
    return providers.stream()
        .filter(provider -> provider.schemes().contains(scheme))
        .findFirst()
        .orElseThrow(() -> unserved(scheme));
  }

  private LockConfigurationException unserved(String scheme) {
    String broken =
        problems.isEmpty()
            ? ""
            : "these providers cannot be loaded: " + String.join("; ", problems) + "; otherwise ";
    String examples =
        providers.stream()
            .flatMap(provider -> provider.schemes().stream().map(provider::example))
            .sorted()
            .collect(Collectors.joining(", "));
    String found = examples.isEmpty() ? "" : ". The backends that were found take " + examples;
    return new LockConfigurationException(
        String.format(
            "no backend was found for %s: URIs; %s%s%s", scheme, broken, advice(scheme), found));
  }

  private static String advice(String scheme) {
    return ARTIFACTS.stream()
        .filter(artifact -> artifact.schemes().contains(scheme))
        .findFirst()
        .map(
            artifact ->
                artifact.isPresent()
                    ? "dev.interlock:"
                        + artifact.id()
                        + " is on the class path, but no file "
                        + SERVICE_FILE
                        + " names its provider; if jars were merged into one, merge their files"
                        + " of that name, too"
                    : "add the dependency dev.interlock:" + artifact.id())
        .orElse("correct the scheme, or add the backend's jar");
  }
}
