package dev.interlock.bench;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.Deployment;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/** Starts the servers of each backend that needs servers. */
final class Servers {
  static final Map<String, Supplier<Deployment>> BY_BACKEND;

  static {
    Map<String, Supplier<Deployment>> servers = new LinkedHashMap<>();
    servers.put("redis", () -> Testbed.redis().start());
    servers.put("redlock", () -> Testbed.redlockNodes().start());
    servers.put("zookeeper", () -> Testbed.zookeeper().start());
    servers.put("etcd", () -> Testbed.etcd().start());
    BY_BACKEND = Collections.unmodifiableMap(servers);
  }

  private Servers() {}
}
