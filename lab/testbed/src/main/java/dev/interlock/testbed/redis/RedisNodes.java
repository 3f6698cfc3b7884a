package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.process.Ports;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.Place;
import dev.interlock.testbed.server.TlsIdentity;
import dev.interlock.testbed.server.WrongClock;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Starts the Redis servers of one deployment, whose configurations differ in a few lines. */
record RedisNodes(Installation installation, RedisConfig config) {
  /** The setting of the bus port that a cluster node announces to its peers. */
  private static final String ANNOUNCED_BUS = "cluster-announce-bus-port";

  /** {@return a starter of servers with a wrong clock} */
  RedisNodes withClock(Duration ahead) throws UnsuitableSourceException {
    return new RedisNodes(WrongClock.on(installation, ahead), config);
  }

  /** {@return the port at which peers reach the bus of a cluster node} */
  static String busOf(RedisServer node) throws IOException {
    Object setting = node.call("CONFIG", "GET", ANNOUNCED_BUS);
    return Objects.requireNonNull(RedisEndpoint.map(setting).get(ANNOUNCED_BUS));
  }

  RedisServer startServer(String name, String... extraLines) {
    int port = Ports.reserve();
    return Place.launch(name, place -> launchData(name, place, port, extraLines), port);
  }

  RedisServer startClusterNode(String name, @Nullable PeerGates gates, String... extraLines) {
    int port = Ports.reserveWith(Ports.CLUSTER_BUS_OFFSET);
    int bus = port + Ports.CLUSTER_BUS_OFFSET;
    int gate = gates == null ? bus : Ports.reserve();
    List<String> lines = new ArrayList<>(List.of(extraLines));
    lines.add(ANNOUNCED_BUS + " " + gate);
    return Place.launch(
        name,
        place -> {
          if (gates != null) {
            place.closeOnRelease(gates.open(gate, bus, port, RedisNodes::sender));
          }
          return launchData(name, place, port, lines.toArray(String[]::new));
        },
        port,
        bus,
        gate);
  }

  /** {@return the sender's port for clients, from the header of a bus message (clusterMsg)} */
  private static int sender(String text) {
    return text.startsWith("RCmb") && text.length() >= 12
        ? text.charAt(10) << 8 | text.charAt(11)
        : 0;
  }

  /** Starts a sentinel, which shares only TLS with the configuration of the data servers. */
  RedisServer startSentinel(String name, List<String> lines) {
    int port = Ports.reserve();
    return Place.launch(
        name, place -> launch(name, place, port, lines, null, List.of("--sentinel")), port);
  }

  private RedisServer launchData(String name, Place place, int port, String... extraLines) {
    List<String> lines = new ArrayList<>(config.lines());
    lines.addAll(List.of(extraLines));
    return launch(name, place, port, lines, config.password(), List.of());
  }

  private RedisServer launch(
      String name,
      Place place,
      int port,
      List<String> lines,
      @Nullable String password,
      List<String> extraArguments) {
    Path directory = place.directory();
    TlsIdentity tls = config.tls() ? TlsIdentity.of(place.workspace()) : null;
    RedisEndpoint endpoint =
        new RedisEndpoint("127.0.0.1", port, null, password, tls == null ? null : tls.trust());
    List<String> arguments = new ArrayList<>();
    arguments.add(RedisConfig.write(directory, port, tls, lines).toString());
    arguments.addAll(extraArguments);
    return RedisServer.launch(
        name,
        installation.source(),
        endpoint,
        place.parts(installation, arguments, () -> RedisConfig.deleteData(directory)));
  }
}
