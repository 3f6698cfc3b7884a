package dev.interlock.testbed.etcd;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.ContainerInstallation;
import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Workspace;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DeploymentBuilder;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.ElectedEnsemble;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.Place;
import dev.interlock.testbed.server.Servers;
import dev.interlock.testbed.server.TlsIdentity;
import dev.interlock.testbed.server.TlsTrust;
import dev.interlock.testbed.server.Uris;
import dev.interlock.testbed.server.Way;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** An etcd cluster, of one member or more. */
public final class EtcdCluster extends ElectedEnsemble<EtcdServer> {
  private static final Duration ANSWER = Duration.ofSeconds(5);
  private static final String SCHEME = "etcd";

  private final @Nullable TlsTrust trust;

  private EtcdCluster(
      String uri,
      String how,
      String version,
      List<EtcdServer> members,
      @Nullable TlsTrust trust,
      @Nullable PeerGates gates) {
    super(uri, how, version, members, gates);
    this.trust = trust;
  }

  private static EtcdCluster of(
      List<EtcdServer> members, EtcdConfig config, @Nullable PeerGates gates) {
    EtcdServer first = members.get(0);
    TlsTrust trust = config.tls() == null ? null : config.tls().trust();
    StringBuilder uri = new StringBuilder(trust == null ? SCHEME : SCHEME + "s").append("://");
    if (config.password() != null) {
      uri.append("root:").append(Uris.encode(config.password())).append('@');
    }
    uri.append(
        members.stream().map(m -> m.host() + ":" + m.port()).collect(Collectors.joining(",")));
    if (trust != null) {
      uri.append(trust.query());
    }
    TlsIdentity tls = config.tls();
    if (tls != null && config.clientCertificates()) {
      uri.append("&clientCert=").append(Uris.encode(tls.certificate().toString()));
      uri.append("&clientKey=").append(Uris.encode(tls.key().toString()));
    }
    return new EtcdCluster(uri.toString(), first.how(), first.version(), members, trust, gates);
  }

  private static EtcdCluster named(String text) {
    boolean secured = text.startsWith(SCHEME + "s://");
    EndpointUri uri = EndpointUri.parse(text, secured ? SCHEME + "s" : SCHEME);
    TlsTrust trust = secured ? TlsTrust.named(uri.query()) : null;
    try {
      String url = (secured ? "https://" : "http://") + uri.firstHost() + ":" + uri.firstPort(2379);
      String version = new EtcdEndpoint(url, trust, null).version(ANSWER);
      return new EtcdCluster(text, "endpoint " + uri, version, List.of(), trust, null);
    } catch (IOException | IllegalArgumentException e) {
      throw new TestbedException("the named endpoint does not serve: " + e.getMessage(), e);
    }
  }

  /** Where clients connect, for example {@code etcd://127.0.0.1:10001,127.0.0.1:10002}. */
  @Override
  public String uri() {
    return super.uri();
  }

  @Override
  public Optional<Path> caCertificate() {
    return trust == null ? Optional.empty() : trust.certificates();
  }

  @Override
  protected boolean leads(EtcdServer member) throws IOException {
    return member.status().leads();
  }

  @Override
  protected boolean isWhole() throws IOException {
    List<String> leaders = new ArrayList<>();
    for (EtcdServer member : members()) {
      if (!member.healthy()) {
        return false;
      }
      leaders.add(member.status().leader());
    }
    return findLeader().isPresent() && leaders.stream().distinct().count() == 1;
  }

  /** Hands the lead over to the next member. */
  @Override
  protected void depose(EtcdServer leader) throws IOException {
    EtcdServer next = followers().get(0);
    leader.call(
        "/v3/maintenance/transfer-leadership", "{\"targetID\":\"" + next.status().member() + "\"}");
    awaitLeaderOtherThan(leader);
  }

  /** Every lease counts, whatever it is for. */
  @Override
  protected List<String> sessions(EtcdServer server) throws IOException {
    List<String> leases = EtcdEndpoint.fields(server.call("/v3/lease/leases", "{}"), "ID");
    return leases.stream().sorted().toList();
  }

  @Override
  protected void endSession(EtcdServer server, String session) throws IOException {
    String unused = server.call("/v3/lease/revoke", "{\"ID\":\"" + session + "\"}");
  }

  /** What is wanted of a cluster before it is started. */
  public static final class Builder extends DeploymentBuilder<Builder, EtcdCluster> {
    private int members = 1;
    private boolean tls;
    private boolean clientCertificates;
    private @Nullable String password;
    private boolean separable;
    private Duration electionTimeout = Duration.ofSeconds(1);
    private final List<String> extra = new ArrayList<>();

    public Builder() {
      super("etcd");
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
     * Has the members speak TLS, and nothing else, to clients. They share a certificate for
     * 127.0.0.1 that {@link Deployment#caCertificate()} tells clients to trust; clients need none.
     */
    public Builder tls() {
      this.tls = true;
      return this;
    }

    /**
     * Has the members speak TLS, and serve only clients that show a certificate. The URI names one
     * that they trust.
     */
    public Builder clientCertificates() {
      this.clientCertificates = true;
      return tls();
    }

    /**
     * Has the members ask for a user: {@code root}, with this password. The data of a single server
     * include its users, so that they go with {@link DisposableServer#restartEmpty()}.
     */
    public Builder password(String password) {
      this.password = password;
      return this;
    }

    /** Lets members be {@linkplain Deployment#cutOff cut off} from each other. */
    public Builder separable() {
      this.separable = true;
      return this;
    }

    /**
     * Sets how long followers wait for a sign of the leader, 1 s by default; the leader gives ten
     * in that time.
     *
     * @throws IllegalArgumentException if it is less than 10 ms
     */
    public Builder electionTimeout(Duration timeout) {
      if (timeout.toMillis() < 10) {
        throw new IllegalArgumentException(
            "the election time-out must be at least 10 ms, not " + timeout);
      }
      this.electionTimeout = timeout;
      return this;
    }

    /** Adds lines to the configuration of every member, as etcd's YAML file takes them. */
    public Builder config(String... lines) {
      extra.addAll(List.of(lines));
      return this;
    }

    @Override
    protected EtcdCluster startBy(Way way) throws UnsuitableWayException {
      if (way == Way.ENDPOINT) {
        return named(
            namedEndpoint("interlock.etcd.uri", tls || password != null || !extra.isEmpty()));
      }
      Installation installation = installation(way);
      return retryOnBindConflict(() -> launch(installation));
    }

    private static Installation installation(Way way) throws UnsuitableWayException {
      return switch (way) {
        case BINARY -> {
          BinaryInstallation found = BinaryInstallation.find("etcd", "interlock.etcd.binary");
          // etcd 3.4 wants to be told that 64-bit ARM is meant; elsewhere it is not looked at.
          yield found.with(Map.of("ETCD_UNSUPPORTED_ARCH", "arm64"));
        }
        case EMBEDDED ->
            throw new UnsuitableWayException("there is no embedded etcd on Maven Central");
        case DOCKER ->
            ContainerInstallation.find(
                "etcd", "interlock.etcd.image", "gcr.io/etcd-development/etcd:v3.5.21");
        case ENDPOINT -> throw new IllegalArgumentException("an endpoint is not an installation");
      };
    }

    /** Every member's configuration has all ports, so a conflict of one is a new start of all. */
    private EtcdCluster launch(Installation installation) {
      List<EtcdConfig.Member> places =
          IntStream.rangeClosed(1, members)
              .mapToObj(number -> EtcdConfig.Member.reserve(number, separable))
              .toList();
      String token = UUID.randomUUID().toString();
      Workspace workspace = Workspace.join(); // until the members keep it open
      try {
        TlsIdentity identity = tls ? TlsIdentity.of(workspace) : null;
        EtcdConfig config =
            new EtcdConfig(
                token,
                places,
                identity,
                clientCertificates,
                password,
                electionTimeout,
                List.copyOf(extra));
        return launch(installation, config);
      } finally {
        workspace.leave();
      }
    }

    private static EtcdCluster launch(Installation installation, EtcdConfig config) {
      PeerGates gates = new PeerGates();
      List<EtcdServer> started =
          Servers.startAll(
              config.members().size(),
              i -> launch(installation, config, config.members().get(i), gates));
      try {
        EtcdCluster cluster = of(started, config, config.members().get(0).isGated() ? gates : null);
        cluster.heal();
        if (config.password() != null) {
          started.get(0).enableAuthentication(config.password());
        }
        return cluster;
      } catch (IOException e) {
        TestbedException failure =
            new TestbedException("cannot enable authentication: " + e.getMessage(), e);
        Servers.closeAfter(failure, started);
        throw failure;
      } catch (RuntimeException e) {
        Servers.closeAfter(e, started);
        throw e;
      }
    }

    private static EtcdServer launch(
        Installation installation, EtcdConfig config, EtcdConfig.Member member, PeerGates gates) {
      return Place.launch(
          member.name(),
          place -> EtcdServer.launch(installation, place, config, member, gates),
          member.ports());
    }

    @Override
    protected Builder self() {
      return this;
    }
  }
}
