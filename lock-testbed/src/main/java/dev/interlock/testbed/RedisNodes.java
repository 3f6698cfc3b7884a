package dev.interlock.testbed;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Starts the Redis servers of one deployment, alike but for what each is told besides. */
record RedisNodes(Installation installation, RedisConfig config) {

  RedisServer startServer(String name, String... more) {
    int port = Ports.reserve();
    return Place.launch(name, place -> launchData(name, place, port, more), port);
  }

  RedisServer startClusterNode(String name, String... more) {
    int port = Ports.reserveWith(Ports.CLUSTER_BUS_OFFSET);
    return Place.launch(
        name, place -> launchData(name, place, port, more), port, port + Ports.CLUSTER_BUS_OFFSET);
  }

  /** Starts a sentinel, which has nothing of the data servers' configuration but TLS. */
  RedisServer startSentinel(String name, List<String> lines) {
    int port = Ports.reserve();
    return Place.launch(
        name, place -> launch(name, place, port, lines, null, List.of("--sentinel")), port);
  }

  private RedisServer launchData(String name, Place place, int port, String... more) {
    List<String> lines = new ArrayList<>(config.lines());
    lines.addAll(List.of(more));
    return launch(name, place, port, lines, config.password(), List.of());
  }

  private RedisServer launch(
      String name,
      Place place,
      int port,
      List<String> lines,
      @Nullable String password,
      List<String> arguments) {
    TlsIdentity tls = config.tls() ? TlsIdentity.of(place.workspace()) : null;
    RedisFiles files = new RedisFiles(place.directory(), port, tls, lines);
    RedisEndpoint endpoint =
        new RedisEndpoint("127.0.0.1", port, null, password, tls == null ? null : tls.trust());
    return RedisServer.launch(name, installation, place, files, endpoint, arguments);
  }
}
