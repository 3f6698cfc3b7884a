package dev.interlock.testbed.etcd;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.ContainerInstallation;
import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.process.Workspace;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.ElectedEnsemble;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.ServerSource;
import dev.interlock.testbed.server.Servers;
import dev.interlock.testbed.server.TlsIdentity;
import dev.interlock.testbed.server.TlsTrust;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * An etcd cluster of one or more members. Its URI is, for example, {@code
 * etcd://127.0.0.1:10001,127.0.0.1:10002}.
 */
public final class EtcdCluster extends ElectedEnsemble<EtcdServer> {
  private static final String SCHEME = "etcd";

  private final @Nullable TlsTrust trust;

  private EtcdCluster(
      String uri, List<EtcdServer> members, @Nullable TlsTrust trust, @Nullable PeerGates gates) {
    super(uri, members, gates);
    this.trust = trust;
  }

  private EtcdCluster(EndpointUri uri, String version) {
    super(uri, version);
    this.trust = uri.tls();
  }

  private static EtcdCluster of(
      List<EtcdServer> members, EtcdConfig config, @Nullable PeerGates gates) {
    TlsIdentity tls = config.tls();
    TlsTrust trust = tls == null ? null : tls.trust();
    StringBuilder uri = new StringBuilder(trust == null ? SCHEME : SCHEME + "s").append("://");
    if (config.password() != null) {
      uri.append("root:").append(EndpointUri.encode(config.password())).append('@');
    }
    uri.append(Servers.addresses(members));
    if (trust != null) {
      uri.append(trust.query());
    }
    if (tls != null && config.clientCertificates()) {
      uri.append("&clientCert=").append(EndpointUri.encode(tls.certificate().toString()));
      uri.append("&clientKey=").append(EndpointUri.encode(tls.key().toString()));
    }
    return new EtcdCluster(uri.toString(), members, trust, gates);
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
    Set<String> leaders = new HashSet<>();
    for (EtcdServer member : members()) {
      if (!member.healthy()) {
        return false;
      }
      leaders.add(member.status().leader());
    }
    return findLeader().isPresent() && leaders.size() == 1;
  }

  /** Transfers the leadership to the next member. */
  @Override
  protected void depose(EtcdServer leader) throws IOException {
    EtcdServer next = followers().get(0);
    leader.call(
        "/v3/maintenance/transfer-leadership", "{\"targetID\":\"" + next.status().member() + "\"}");
    awaitLeaderOtherThan(leader);
  }

  /** {@return all leases} */
  @Override
  protected List<String> sessions(EtcdServer server) throws IOException {
    List<String> leases = EtcdEndpoint.fields(server.call("/v3/lease/leases", "{}"), "ID");
    return leases.stream().sorted().toList();
  }

  @Override
  protected void endSession(EtcdServer server, String session) throws IOException {
    String unused = server.call("/v3/lease/revoke", "{\"ID\":\"" + session + "\"}");
  }

  /** The settings of a cluster before it is started. */
  public static final class Builder extends ElectedEnsemble.Builder<Builder, EtcdCluster> {
    private boolean tls;
    private @Nullable TlsIdentity identity;
    private boolean clientCertificates;
    private @Nullable String password;
    private Duration electionTimeout = Duration.ofSeconds(1);

    public Builder() {
      super("etcd", "interlock.etcd.uri", "unsafe-no-fsync: true");
    }

    /**
     * Makes the members speak only TLS to clients. They share a certificate for 127.0.0.1; see
     * {@link Deployment#caCertificate()}. Clients need no certificate.
     */
    public Builder tls() {
      this.tls = true;
      return this;
    }

    /** Makes the members speak only TLS, with an identity whose files the test may replace. */
    public Builder tls(TlsIdentity identity) {
      this.identity = identity;
      return tls();
    }

    /**
     * Makes the members speak only TLS, and require a certificate of clients. The URI names one
     * that they trust.
     */
    public Builder clientCertificates() {
      this.clientCertificates = true;
      return tls();
    }

    /**
     * Enables authentication, with this password of {@code root}. A single server loses its users
     * with its other data in {@link DisposableServer#restartEmpty()}.
     */
    public Builder password(String password) {
      this.password = password;
      return this;
    }

    /**
     * Sets the election time-out, 1 s by default. The leader sends ten heartbeats in that time.
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

    @Override
    protected boolean isConfigured() {
      return tls || password != null || !extra.isEmpty();
    }

    @Override
    protected EtcdCluster named(String text) throws IOException {
      EndpointUri uri = EndpointUri.parse(text, SCHEME, 2379);
      String url = (uri.tls() == null ? "http://" : "https://") + uri;
      return new EtcdCluster(uri, new EtcdEndpoint(url, uri.tls(), null).version());
    }

    @Override
    protected EtcdCluster launch(ServerSource source) throws UnsuitableSourceException {
      Installation installation =
          switch (source) {
            // etcd 3.4 requires this on 64-bit ARM, and ignores it elsewhere.
            case BINARY ->
                BinaryInstallation.find("etcd", "interlock.etcd.binary")
                    .with(Map.of("ETCD_UNSUPPORTED_ARCH", "arm64"));
            case DOCKER ->
                ContainerInstallation.find(
                    "etcd", "interlock.etcd.image", "gcr.io/etcd-development/etcd:v3.5.21");
            case EMBEDDED ->
                throw new UnsuitableSourceException("there is no embedded etcd on Maven Central");
            case ENDPOINT -> throw new IllegalArgumentException("an endpoint is not a program");
          };
      return retryOnBindConflict(() -> launch(installation));
    }

    /** Starts all members, since each one's configuration contains the ports of all. */
    private EtcdCluster launch(Installation installation) {
      List<EtcdConfig.Member> places =
          IntStream.rangeClosed(1, members)
              .mapToObj(number -> EtcdConfig.Member.reserve(number, separable))
              .toList();
      Workspace workspace = Workspace.join(); // in use until the members use it
      try {
        EtcdConfig config =
            new EtcdConfig(
                UUID.randomUUID().toString(),
                places,
                !tls ? null : identity == null ? TlsIdentity.of(workspace) : identity,
                clientCertificates,
                password,
                electionTimeout,
                List.copyOf(extra));
        PeerGates gates = new PeerGates();
        return Servers.startAll(
            members,
            i -> EtcdServer.launch(installation, config, places.get(i), gates),
            started -> {
              EtcdCluster cluster = of(started, config, separable ? gates : null);
              cluster.heal();
              if (password != null) {
                started.get(0).enableAuthentication(password);
              }
              return cluster;
            });
      } finally {
        workspace.leave();
      }
    }
  }
}
