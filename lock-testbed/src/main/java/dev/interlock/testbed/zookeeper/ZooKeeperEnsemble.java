package dev.interlock.testbed.zookeeper;

import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DeploymentBuilder;
import dev.interlock.testbed.server.ElectedEnsemble;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.Place;
import dev.interlock.testbed.server.Servers;
import dev.interlock.testbed.server.Way;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A ZooKeeper ensemble, of one member or more, each in a process of its own. */
public final class ZooKeeperEnsemble extends ElectedEnsemble<ZooKeeperServer> {
  private static final String SCHEME = "zookeeper";
  private static final Duration ANSWER = Duration.ofSeconds(5);
  private static final Pattern EPHEMERAL_OWNER =
      Pattern.compile("^0x(\\p{XDigit}+):", Pattern.MULTILINE);

  private ZooKeeperEnsemble(
      String uri,
      String how,
      String version,
      List<ZooKeeperServer> members,
      @Nullable PeerGates gates) {
    super(uri, how, version, members, gates);
  }

  private static ZooKeeperEnsemble of(List<ZooKeeperServer> members, @Nullable PeerGates gates) {
    ZooKeeperServer first = members.get(0);
    String addresses =
        members.stream().map(m -> m.host() + ":" + m.port()).collect(Collectors.joining(","));
    String uri = SCHEME + "://" + addresses;
    return new ZooKeeperEnsemble(uri, first.how(), first.version(), members, gates);
  }

  private static ZooKeeperEnsemble named(String text) {
    EndpointUri uri = EndpointUri.parse(text, SCHEME);
    try {
      ZooKeeperEndpoint endpoint = new ZooKeeperEndpoint(uri.firstHost(), uri.firstPort(2181));
      String version = ZooKeeperEndpoint.version(endpoint.ask("srvr", ANSWER));
      return new ZooKeeperEnsemble(text, "endpoint " + uri, version, List.of(), null);
    } catch (IOException | IllegalArgumentException e) {
      throw new TestbedException("the named endpoint does not serve: " + e.getMessage(), e);
    }
  }

  /** Where clients connect, for example {@code zookeeper://127.0.0.1:10001,127.0.0.1:10002}. */
  @Override
  public String uri() {
    return super.uri();
  }

  /** The same as ZooKeeper's own clients take it, for example {@code 127.0.0.1:10001}. */
  public String connectString() {
    return uri().substring(SCHEME.length() + "://".length());
  }

  @Override
  protected boolean leads(ZooKeeperServer member) throws IOException {
    String mode = member.mode();
    return mode.equals("leader") || mode.equals("standalone");
  }

  /** A member calls itself a follower once it is in step with the leader. */
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

  /** ZooKeeper has no orderly way: the leader is killed, and started when the next one leads. */
  @Override
  protected void depose(ZooKeeperServer leader) {
    leader.kill();
    awaitLeaderOtherThan(leader);
    leader.restart();
  }

  /** Those with ephemeral nodes. */
  @Override
  protected List<String> sessions(ZooKeeperServer server) throws IOException {
    return EPHEMERAL_OWNER.matcher(server.ask("dump")).results().map(r -> r.group(1)).toList();
  }

  @Override
  protected void endSession(ZooKeeperServer server, String session) throws IOException {
    ZooKeeperSession.end(server.host(), server.port(), Long.parseUnsignedLong(session, 16), ANSWER);
  }

  /** What is wanted of an ensemble before it is started. */
  public static final class Builder extends DeploymentBuilder<Builder, ZooKeeperEnsemble> {
    private int members = 1;
    private Duration tick = Duration.ofMillis(500);
    private final List<String> extra = new ArrayList<>();
    private final List<String> flags = new ArrayList<>();
    private boolean separable;

    public Builder() {
      super("ZooKeeper");
    }

    /**
     * Sets the number of members, 1 by default.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    public Builder members(int members) {
      if (members <= 0) {
        throw new IllegalArgumentException("there must be at least one member, not " + members);
      }
      this.members = members;
      return this;
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
     * Adds lines to the configuration of every member, as {@code zoo.cfg} takes them. A key that
     * ZooKeeper does not know becomes the system property of that name with {@code zookeeper.}
     * before it.
     */
    public Builder config(String... lines) {
      extra.addAll(List.of(lines));
      return this;
    }

    /**
     * Gives options to the servers' JVMs, for settings that ZooKeeper reads from nowhere else, such
     * as {@code -Dreadonlymode.enabled=true}. Only embedded servers can be given any.
     */
    public Builder jvmFlags(String... options) {
      flags.addAll(List.of(options));
      return this;
    }

    /**
     * Lets members be {@linkplain Deployment#cutOff cut off} from each other. They then listen to
     * each other on all addresses of this machine.
     */
    public Builder separable() {
      this.separable = true;
      return this;
    }

    @Override
    protected ZooKeeperEnsemble startBy(Way way) throws UnsuitableWayException {
      if (way == Way.ENDPOINT) {
        return named(
            namedEndpoint("interlock.zookeeper.uri", !extra.isEmpty() || !flags.isEmpty()));
      }
      ZooKeeperInstallation installation = ZooKeeperInstallation.find(way, List.copyOf(flags));
      return retryOnBindConflict(() -> launch(installation));
    }

    /** Every member's configuration has all ports, so a conflict of one is a new start of all. */
    private ZooKeeperEnsemble launch(ZooKeeperInstallation installation) {
      List<ZooKeeperConfig.Member> places =
          Stream.generate(() -> ZooKeeperConfig.Member.reserve(separable ? members : 0))
              .limit(members)
              .toList();
      ZooKeeperConfig config = new ZooKeeperConfig(places, tick, List.copyOf(extra));
      PeerGates gates = new PeerGates();
      List<ZooKeeperServer> started =
          Servers.startAll(members, i -> launch(installation, config, i, gates));
      ZooKeeperEnsemble ensemble = of(started, separable ? gates : null);
      try {
        ensemble.heal();
        return ensemble;
      } catch (RuntimeException e) {
        Servers.closeAfter(e, started);
        throw e;
      }
    }

    private static ZooKeeperServer launch(
        ZooKeeperInstallation installation, ZooKeeperConfig config, int index, PeerGates gates) {
      String name = "zookeeper-" + (index + 1);
      ZooKeeperConfig.Member member = config.members().get(index);
      return Place.launch(
          name,
          place -> ZooKeeperServer.launch(name, installation, place, config, member, gates),
          member.ports());
    }

    @Override
    protected Builder self() {
      return this;
    }
  }
}
