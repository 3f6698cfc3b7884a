package dev.interlock.bench;

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

  /** Measures what the targets are about. */
  private interface Targets {
    void measure(Bench bench) throws InterruptedException;
  }

  private final String title;
  private final Targets targets;

  Store(String title, Targets targets) {
    this.title = title;
    this.targets = targets;
  }

  /** {@return those that are named; all if none is} */
  static Set<Store> named(List<Store> named) {
    return named.isEmpty() ? EnumSet.allOf(Store.class) : EnumSet.copyOf(named);
  }

  /** {@return its name in a heading} */
  String title() {
    return title;
  }

  /** {@return its servers, which have been started} */
  Deployment start() {
    return Contender.named(toString()).startServers().orElseThrow();
  }

  void measure(Bench bench) throws InterruptedException {
    targets.measure(bench);
  }

  /** {@return its name as it is written on the command line} */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
