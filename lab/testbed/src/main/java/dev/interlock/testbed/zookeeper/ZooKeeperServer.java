package dev.interlock.testbed.zookeeper;

import dev.interlock.testbed.process.Directories;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.Place;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One ZooKeeper server, alone or as a member of an ensemble, in a process of its own.
 *
 * <p>With {@link #restartEmpty()} a member loses its snapshots and logs, but keeps its number. It
 * gets the data from the leader.
 */
public final class ZooKeeperServer extends DisposableServer {
  private static final Duration FIRST_ANSWER_TIMEOUT = Duration.ofSeconds(1);
  private static final Pattern MODE = Pattern.compile("^Mode: (\\w+)", Pattern.MULTILINE);

  private final ZooKeeperEndpoint endpoint;

  private ZooKeeperServer(String name, String source, ZooKeeperEndpoint endpoint, Parts parts) {
    super(name, endpoint.host(), endpoint.port(), source, endpoint::ready, parts);
    this.endpoint = endpoint;
  }

  /** Starts a server, and waits until its process answers, even without a quorum. */
  static ZooKeeperServer launch(
      ZooKeeperInstallation installation,
      ZooKeeperConfig config,
      ZooKeeperConfig.Member member,
      PeerGates gates) {
    String name = "zookeeper-" + config.number(member);
    return Place.launch(
        name,
        place -> {
          config.open(gates, member, place);
          List<String> arguments =
              installation.arguments().apply(config.write(place.directory(), member));
          Path data = place.directory().resolve(ZooKeeperConfig.DATA).resolve("version-2");
          Parts parts =
              place.parts(installation.program(), arguments, () -> Directories.delete(data));
          ZooKeeperServer server =
              new ZooKeeperServer(name, installation.program().source(), member.endpoint(), parts);
          server.start();
          return server;
        },
        member.ports());
  }

  /** Polls, since a server that has just started to listen may not answer. */
  @Override
  protected String askVersion() {
    return Waiting.demand(
        LIMIT,
        name() + " does not report its version",
        () -> Optional.of(ZooKeeperEndpoint.version(endpoint.ask("envi", FIRST_ANSWER_TIMEOUT))));
  }

  /**
   * Asks the server one of ZooKeeper's four letter words, for example {@code srvr} or {@code mntr}.
   *
   * @return the whole answer
   * @throws IOException if it does not answer within 5 seconds
   */
  public String ask(String word) throws IOException {
    return endpoint.ask(word, ANSWER_TIMEOUT);
  }

  /** {@return the role that the server reports; empty without a quorum} */
  String mode() throws IOException {
    Matcher matcher = MODE.matcher(ask("srvr"));
    return matcher.find() ? matcher.group(1) : "";
  }
}
