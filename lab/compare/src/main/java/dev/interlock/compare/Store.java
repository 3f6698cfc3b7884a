package dev.interlock.compare;

import com.google.errorprone.annotations.Immutable;
import dev.interlock.report.Contender;
import dev.interlock.testbed.server.Deployment;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** The stores for which there are targets. */
enum Store {
  REDIS("Redis", RedisTargets::measure),
  REDLOCK("Redlock", RedlockTargets::measure),
  ZOOKEEPER("ZooKeeper", ZooKeeperTargets::measure),
  ETCD("etcd", EtcdTargets::measure);

  @Immutable
  private interface Targets {
    void measure(Bench bench) throws InterruptedException;
  }

  private final String title;
  private final Targets targets;

  Store(String title, Targets targets) {
    this.title = title;
    this.targets = targets;
  }

  /**
   * {@return the stores with these names; all if no name is given}
   *
   * @throws IllegalArgumentException if a name is unknown
   */
  static Set<Store> named(List<String> names) {
    EnumSet<Store> all = EnumSet.allOf(Store.class);
    EnumSet<Store> named = EnumSet.noneOf(Store.class);
    for (String name : names) {
      named.add(
          all.stream()
              .filter(store -> store.toString().equals(name))
              .findFirst()
              .orElseThrow(
                  () ->
                      new IllegalArgumentException(
                          "there is no backend " + name + "; the backends are " + all)));
    }
    return named.isEmpty() ? all : named;
  }

  /** {@return the name for headings} */
  String title() {
    return title;
  }

  Deployment start() {
    return Contender.named(toString()).startServers().orElseThrow();
  }

  void measure(Bench bench) throws InterruptedException {
    targets.measure(bench);
  }

  /** {@return the name on the command line} */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
