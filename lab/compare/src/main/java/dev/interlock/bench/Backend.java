package dev.interlock.bench;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.Deployment;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The backends that need servers, and how these are started. */
public enum Backend {
  REDIS("Redis", () -> Testbed.redis().start()),
  REDLOCK("Redlock", () -> Testbed.redlockNodes().start()),
  ZOOKEEPER("ZooKeeper", () -> Testbed.zookeeper().start()),
  ETCD("etcd", () -> Testbed.etcd().start());

  private final String title;
  private final Supplier<Deployment> servers;

  Backend(String title, Supplier<Deployment> servers) {
    this.title = title;
    this.servers = servers;
  }

  /** {@return the backend of that name, as it is written on the command line} */
  static Optional<Backend> find(String name) {
    return Stream.of(values()).filter(backend -> backend.toString().equals(name)).findFirst();
  }

  /**
   * {@return the backend of that name, as it is written on the command line}
   *
   * @throws IllegalArgumentException if there is none
   */
  public static Backend named(String name) {
    return find(name)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "no backend " + name + "; there are " + Arrays.toString(values())));
  }

  /** {@return its name in a heading} */
  public String title() {
    return title;
  }

  /** {@return its servers, which have been started} */
  public Deployment start() {
    return servers.get();
  }

  /** {@return its name as it is written on the command line} */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
