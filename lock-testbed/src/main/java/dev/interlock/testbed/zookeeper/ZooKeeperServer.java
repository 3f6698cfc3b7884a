package dev.interlock.testbed.zookeeper;

import dev.interlock.testbed.process.Directories;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.AbstractServer;
import dev.interlock.testbed.server.ManagedServer;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.Place;
import dev.interlock.testbed.server.ServerControl;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One ZooKeeper server, alone or as a member of an ensemble, in a process of its own.
 *
 * <p>With {@link #restartEmpty()} a member loses its snapshots and logs, keeps its number, and gets
 * the data again from the leader.
 */
public final class ZooKeeperServer extends AbstractServer {
  private static final Duration ANSWER = Duration.ofSeconds(5);
  private static final Duration FIRST_ANSWER = Duration.ofSeconds(1);
  private static final Pattern MODE = Pattern.compile("^Mode: (\\w+)", Pattern.MULTILINE);

  private final ZooKeeperEndpoint endpoint;
  private final String version;

  private ZooKeeperServer(
      String name, String how, ZooKeeperEndpoint endpoint, ServerControl control) {
    super(name, endpoint.host(), endpoint.port(), how, endpoint::ready, control);
    this.endpoint = endpoint;
    // A server that has just begun to listen may leave a question unanswered.
    this.version =
        Waiting.demand(
            ManagedServer.LIMIT,
            name + " does not tell its version",
            () -> Optional.of(ZooKeeperEndpoint.version(endpoint.ask("envi", FIRST_ANSWER))));
  }

  /** Starts a server and waits until its process answers, with or without a quorum. */
  static ZooKeeperServer launch(
      String name,
      ZooKeeperInstallation installation,
      Place place,
      ZooKeeperConfig config,
      ZooKeeperConfig.Member member,
      PeerGates gates) {
    config.open(gates, member, place);
    Path configuration = config.write(place.directory(), member);
    Path data = place.directory().resolve(ZooKeeperConfig.DATA).resolve("version-2");
    ZooKeeperEndpoint endpoint = member.endpoint();
    ManagedServer managed =
        new ManagedServer(
            name,
            installation.process(place.workspace(), place.directory(), configuration),
            endpoint::ready,
            () -> Directories.delete(data),
            place::leave);
    managed.start();
    try {
      return new ZooKeeperServer(name, installation.program().how(), endpoint, managed);
    } catch (TestbedException e) {
      managed.close();
      throw e;
    }
  }

  @Override
  public String version() {
    return version;
  }

  /**
   * Asks the server one of ZooKeeper's four letter words, for example {@code srvr} or {@code mntr}.
   *
   * @return the whole answer
   * @throws IOException if it does not answer within 5 seconds
   */
  public String ask(String word) throws IOException {
    return endpoint.ask(word, ANSWER);
  }

  /** The server's own word for what it is now; empty if it serves nobody. */
  String mode() throws IOException {
    Matcher matcher = MODE.matcher(ask("srvr"));
    return matcher.find() ? matcher.group(1) : "";
  }
}
