package dev.interlock.testbed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The configuration that the members of one ZooKeeper ensemble have in common. */
record ZooKeeperConfig(List<Member> members, Duration tick, List<String> extra) {
  static final String DATA = "data";

  /** What the start script puts on the class path; without it everything is logged. */
  private static final String LOGGING =
      """
      <configuration>
        <appender name="console" class="ch.qos.logback.core.ConsoleAppender">
          <encoder><pattern>%d %level %logger - %msg%n%ex</pattern></encoder>
        </appender>
        <root level="INFO"><appender-ref ref="console"/></root>
      </configuration>
      """;

  /** The ports of one member; its number is its place in the list, counted from 1. */
  record Member(int client, int quorum, int election) {
    ZooKeeperEndpoint endpoint() {
      return new ZooKeeperEndpoint("127.0.0.1", client);
    }

    int[] ports() {
      return new int[] {client, quorum, election};
    }

    static Member reserve() {
      return new Member(Ports.reserve(), Ports.reserve(), Ports.reserve());
    }
  }

  /** Writes the files of one member and returns the main one. */
  Path write(Path directory, Member member) {
    Path data = directory.resolve(DATA);
    Path configuration = directory.resolve("zoo.cfg");
    try {
      Files.createDirectory(data);
      Files.writeString(data.resolve("myid"), (members.indexOf(member) + 1) + "\n");
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
                // In ticks: generous, since a busy machine must not look like a partition.
                "initLimit=40",
                "syncLimit=10",
                // A member that has waited long for a quorum would look for others once a minute.
                "fastleader.maxNotificationInterval=1000",
                "maxSessionTimeout=60000",
                "maxClientCnxns=0",
                "admin.enableServer=false",
                "4lw.commands.whitelist=*",
                // KiB by which the log file grows; 64 MiB each would fill a small disk.
                "preAllocSize=4096"));
    if (members.size() > 1) {
      for (int i = 0; i < members.size(); i++) {
        Member peer = members.get(i);
        lines.add(
            String.format("server.%d=127.0.0.1:%d:%d", i + 1, peer.quorum(), peer.election()));
      }
    }
    lines.addAll(extra);
    return lines;
  }
}
