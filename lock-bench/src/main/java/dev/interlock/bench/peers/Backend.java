package dev.interlock.bench.peers;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.Deployment;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The stores, how their servers are started, and what is measured on them. */
enum Backend {
  REDIS("Redis", () -> Testbed.redis().start(), RedisRows::measure),
  REDLOCK("Redlock", () -> Testbed.redlockNodes().start(), RedlockRows::measure),
  ZOOKEEPER("ZooKeeper", () -> Testbed.zookeeper().start(), ZooKeeperRows::measure),
  ETCD("etcd", () -> Testbed.etcd().start(), EtcdRows::measure);

  private final String title;
  private final Supplier<Deployment> servers;
  private final Rows rows;

  /** Measures what the targets of one store need. */
  @FunctionalInterface
  private interface Rows {
    void measure(Bench bench) throws InterruptedException;
  }

  Backend(String title, Supplier<Deployment> servers, Rows rows) {
    this.title = title;
    this.servers = servers;
    this.rows = rows;
  }

  static Backend named(String word) {
    return Stream.of(values())
        .filter(backend -> backend.toString().equals(word))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "no backend " + word + "; there are " + Arrays.toString(values())));
  }

  String title() {
    return title;
  }

  Deployment start() {
    return servers.get();
  }

  void measure(Bench bench) throws InterruptedException {
    rows.measure(bench);
  }

  /** As it is written on the command line. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
