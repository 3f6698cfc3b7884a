package dev.interlock.testbed.zookeeper;

import dev.interlock.testbed.process.Ports;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.Place;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The common configuration of the members of one ZooKeeper ensemble. */
record ZooKeeperConfig(List<Member> members, Duration tick, List<String> extra) {
  static final String DATA = "data";

  /** A logging configuration for the start script, which logs everything without one. */
  private static final String LOGGING =
      """
      <configuration>
        <appender name="console" class="ch.qos.logback.core.ConsoleAppender">
          <encoder><pattern>%d %level %logger - %msg%n%ex</pattern></encoder>
        </appender>
        <root level="INFO"><appender-ref ref="console"/></root>
      </configuration>
      """;

  /**
   * The ports of one member, whose number is its position in the list, from 1.
   *
   * @param gates the gates from this member to each, in the order of the list; empty without gates
   */
  record Member(int client, int quorum, int election, List<Gate> gates) {
    ZooKeeperEndpoint endpoint() {
      return new ZooKeeperEndpoint("127.0.0.1", client);
    }

    int[] ports() {
      return IntStream.concat(
              IntStream.of(client, quorum, election),
              gates.stream().flatMapToInt(gate -> IntStream.of(gate.quorum(), gate.election())))
          .toArray();
    }

    /**
     * Reserves ports.
     *
     * @param gates the number of gates, one per member, or 0
     */
    static Member reserve(int gates) {
      return new Member(
          Ports.reserve(),
          Ports.reserve(),
          Ports.reserve(),
          Stream.generate(Gate::reserve).limit(gates).toList());
    }
  }

  /** The ports at which one member finds another. */
  record Gate(int quorum, int election) {
    static Gate reserve() {
      return new Gate(Ports.reserve(), Ports.reserve());
    }
  }

  /** {@return the number of a member, counted from 1} */
  int number(Member member) {
    return members.indexOf(member) + 1;
  }

  /** Writes the files of one member, and returns the main one. */
  Path write(Path directory, Member member) {
    Path data = directory.resolve(DATA);
    Path configuration = directory.resolve("zoo.cfg");
    try {
      Files.createDirectory(data);
      Files.writeString(data.resolve("myid"), number(member) + "\n");
      Files.writeString(directory.resolve("logback.xml"), LOGGING);
      Files.write(configuration, lines(data, member));
      return configuration;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write below " + directory, e);
    }
  }

  private List<String> lines(Path data, Member member) {
    List<String> lines =
        new ArrayList<>(
            List.of(
                "dataDir=" + data,
                "clientPort=" + member.client(),
                "clientPortAddress=127.0.0.1",
                "tickTime=" + tick.toMillis(),
                "initLimit=" + ticks(40, Duration.ofSeconds(20)),
                "syncLimit=" + ticks(10, Duration.ofSeconds(10)),
                // By default, a member without a quorum comes to look for others only once a
                // minute.
                "fastleader.maxNotificationInterval=1000",
                "maxSessionTimeout=60000",
                "maxClientCnxns=0",
                "admin.enableServer=false",
                "4lw.commands.whitelist=*",
                // The log file grows by this many KiB; the default of 64 MiB would fill a small
                // disk.
                "preAllocSize=4096"));
    if (members.size() > 1) {
      for (int i = 0; i < members.size(); i++) {
        lines.add("server." + (i + 1) + "=" + address(member, i));
      }
    }
    lines.addAll(extra);
    return lines;
  }

  /**
   * {@return the number of ticks, limited by a duration} Many ticks tolerate a busy machine. The
   * limit ensures that with long ticks a member that was cut off still notices it in time.
   */
  private long ticks(int preferred, Duration max) {
    return Math.min(preferred, Math.max(1, max.dividedBy(tick)));
  }

  /** {@return the address at which a member reaches another or itself} */
  private String address(Member member, int index) {
    Member peer = members.get(index);
    if (member.gates().isEmpty()) {
      return "127.0.0.1:" + peer.quorum() + ":" + peer.election();
    }
    if (peer.equals(member)) {
      // A member that knows its own address would announce it, and others would bypass the gates.
      return "0.0.0.0:" + peer.quorum() + ":" + peer.election();
    }
    Gate gate = member.gates().get(index);
    return "127.0.0.1:" + gate.quorum() + ":" + gate.election();
  }

  /** Opens a member's gates to the others. */
  void open(PeerGates gates, Member member, Place place) {
    for (int i = 0; i < member.gates().size(); i++) {
      Gate gate = member.gates().get(i);
      Member peer = members.get(i);
      int from = member.client();
      place.closeOnRelease(gates.open(gate.quorum(), peer.quorum(), peer.client(), text -> from));
      place.closeOnRelease(
          gates.open(gate.election(), peer.election(), peer.client(), text -> from));
    }
  }
}
