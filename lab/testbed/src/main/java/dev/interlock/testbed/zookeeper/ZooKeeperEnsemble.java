package dev.interlock.testbed.zookeeper;

import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.server.ElectedEnsemble;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.ServerSource;
import dev.interlock.testbed.server.Servers;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A ZooKeeper ensemble of one or more members, each in a process of its own. Its URI is, for
 * example, {@code zookeeper://127.0.0.1:10001,127.0.0.1:10002}.
 */
public final class ZooKeeperEnsemble extends ElectedEnsemble<ZooKeeperServer> {
  private static final String SCHEME = "zookeeper";
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(5);
  private static final Pattern EPHEMERAL_OWNER =
      Pattern.compile("^0x(\\p{XDigit}+):", Pattern.MULTILINE);

  private ZooKeeperEnsemble(
      String login, List<ZooKeeperServer> members, @Nullable PeerGates gates) {
    super(SCHEME + "://" + login + Servers.addresses(members), members, gates);
  }

  private ZooKeeperEnsemble(EndpointUri uri, String version) {
    super(uri, version);
  }

  /** {@return the connect string of ZooKeeper's own clients} */
  public String connectString() {
    return uri().replaceFirst("^" + SCHEME + "://([^@/]*@)?", "");
  }

  @Override
  protected boolean leads(ZooKeeperServer member) throws IOException {
    String mode = member.mode();
    return mode.equals("leader") || mode.equals("standalone");
  }

  /** {@return whether all members but the leader are followers, and so in step with it} */
  @Override
  protected boolean isWhole() throws IOException {
    int followers = 0;
    for (ZooKeeperServer member : members()) {
      if (member.mode().equals("follower")) {
        followers++;
      }
    }
    return findLeader().isPresent() && followers == members().size() - 1;
  }

  /** Kills the leader, since ZooKeeper has no command for it, and restarts it as a follower. */
  @Override
  protected void depose(ZooKeeperServer leader) {
    leader.kill();
    awaitLeaderOtherThan(leader);
    leader.restart();
  }

  /** {@return the sessions with ephemeral nodes} */
  @Override
  protected List<String> sessions(ZooKeeperServer server) throws IOException {
    return EPHEMERAL_OWNER.matcher(server.ask("dump")).results().map(r -> r.group(1)).toList();
  }

  @Override
  protected void endSession(ZooKeeperServer server, String session) throws IOException {
    ZooKeeperSession.end(
        server.host(), server.port(), Long.parseUnsignedLong(session, 16), ANSWER_TIMEOUT);
  }

  /** The settings of an ensemble before it is started. */
  public static final class Builder extends ElectedEnsemble.Builder<Builder, ZooKeeperEnsemble> {
    private Duration tick = Duration.ofMillis(500);
    private final List<String> flags = new ArrayList<>();
    private String login = "";

    public Builder() {
      super("ZooKeeper", "interlock.zookeeper.uri", "forceSync=no");
    }

    /**
     * Sets the server's unit of time ({@code tickTime}), 500 ms by default. No session time-out is
     * below two ticks.
     *
     * @throws IllegalArgumentException if it is less than a millisecond
     */
    public Builder tick(Duration tick) {
      if (tick.toMillis() <= 0) {
        throw new IllegalArgumentException("a tick must last at least 1 ms, not " + tick);
      }
      this.tick = tick;
      return this;
    }

    /**
     * Puts a user and a password for the digest scheme into the URI. The servers know no users;
     * nodes are accessible to clients with the same login as their creator.
     */
    public Builder login(String user, String password) {
      this.login = EndpointUri.encode(user) + ":" + EndpointUri.encode(password) + "@";
      return this;
    }

    /**
     * Adds options of the servers' JVMs, for settings that ZooKeeper reads only there, such as
     * {@code -Dreadonlymode.enabled=true}. Only embedded servers accept them.
     */
    public Builder jvmFlags(String... options) {
      flags.addAll(List.of(options));
      return this;
    }

    @Override
    protected boolean isConfigured() {
      return !extra.isEmpty() || !flags.isEmpty() || !login.isEmpty();
    }

    @Override
    protected ZooKeeperEnsemble named(String text) throws IOException {
      EndpointUri uri = EndpointUri.parse(text, SCHEME, 2181);
      if (uri.tls() != null) {
        throw new TestbedException("the named endpoint must begin with " + SCHEME + "://");
      }
      String answer = new ZooKeeperEndpoint(uri.host(), uri.port()).ask("srvr", ANSWER_TIMEOUT);
      return new ZooKeeperEnsemble(uri, ZooKeeperEndpoint.version(answer));
    }

    @Override
    protected ZooKeeperEnsemble launch(ServerSource source) throws UnsuitableSourceException {
      ZooKeeperInstallation installation = ZooKeeperInstallation.find(source, List.copyOf(flags));
      return retryOnBindConflict(() -> launch(installation));
    }

    /** Starts all members, since each one's configuration contains the ports of all. */
    private ZooKeeperEnsemble launch(ZooKeeperInstallation installation) {
      List<ZooKeeperConfig.Member> places =
          Stream.generate(() -> ZooKeeperConfig.Member.reserve(separable ? members : 0))
              .limit(members)
              .toList();
      ZooKeeperConfig config = new ZooKeeperConfig(places, tick, List.copyOf(extra));
      PeerGates gates = new PeerGates();
      return Servers.startAll(
          members,
          i -> ZooKeeperServer.launch(installation, config, places.get(i), gates),
          started -> {
            ZooKeeperEnsemble ensemble =
                new ZooKeeperEnsemble(login, started, separable ? gates : null);
            ensemble.heal();
            return ensemble;
          });
    }
  }
}
