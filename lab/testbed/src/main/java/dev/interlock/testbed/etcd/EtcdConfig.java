package dev.interlock.testbed.etcd;

import dev.interlock.testbed.process.Directories;
import dev.interlock.testbed.process.Ports;
import dev.interlock.testbed.server.TlsIdentity;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The common configuration of the members of one etcd cluster.
 *
 * @param token distinguishes the members from those of earlier clusters on the same ports
 * @param tls the certificate of the members, or null without TLS
 * @param clientCertificates whether clients must present a certificate
 * @param password the password of the user {@code root}, or null without authentication
 */
record EtcdConfig(
    String token,
    List<Member> members,
    @Nullable TlsIdentity tls,
    boolean clientCertificates,
    @Nullable String password,
    Duration electionTimeout,
    List<String> extra) {
  private static final String DATA = "data";

  /** The name and ports of one member. Its peers connect to its gate. */
  record Member(String name, int client, int peer, int gate) {
    static Member reserve(int number, boolean gated) {
      int peer = Ports.reserve();
      return new Member("etcd-" + number, Ports.reserve(), peer, gated ? Ports.reserve() : peer);
    }

    boolean isGated() {
      return gate != peer;
    }

    int[] ports() {
      return new int[] {client, peer, gate};
    }

    /** {@return the URL at which it listens to its peers} */
    String listenUrl() {
      return "http://127.0.0.1:" + peer;
    }

    /** {@return the URL to which its peers connect} */
    String peerUrl() {
      return "http://127.0.0.1:" + gate;
    }
  }

  /** Whether a member without data forms a new cluster or joins an existing one. */
  enum Start {
    NEW,
    EXISTING
  }

  /** {@return the endpoint of a member for clients and the testbed} */
  EtcdEndpoint client(Member member) {
    return new EtcdEndpoint(clientUrl(member), tls == null ? null : tls.trust(), password);
  }

  private String clientUrl(Member member) {
    return (tls == null ? "http" : "https") + "://127.0.0.1:" + member.client();
  }

  Path write(Path directory, Member member, Start start) {
    return Directories.write(directory.resolve("etcd.yml"), lines(directory, member, start));
  }

  private List<String> lines(Path directory, Member member, Start start) {
    String all =
        members.stream().map(m -> m.name() + "=" + m.peerUrl()).collect(Collectors.joining(","));
    List<String> lines =
        new ArrayList<>(
            List.of(
                "name: " + member.name(),
                "data-dir: '" + directory.resolve(DATA) + "'",
                "listen-client-urls: " + clientUrl(member),
                "advertise-client-urls: " + clientUrl(member),
                "listen-peer-urls: " + member.listenUrl(),
                "initial-advertise-peer-urls: " + member.peerUrl(),
                "initial-cluster: " + all,
                "initial-cluster-state: " + (start == Start.NEW ? "new" : "existing"),
                "initial-cluster-token: " + token,
                // on by default, except in etcd 3.4 with a configuration file
                "enable-grpc-gateway: true",
                // the lowest cost, since tests log in often
                "bcrypt-cost: 4",
                "heartbeat-interval: " + Math.max(1, electionTimeout.toMillis() / 10),
                "election-timeout: " + electionTimeout.toMillis()));
    if (tls != null) {
      lines.add("client-transport-security:");
      lines.add("  cert-file: '" + tls.certificate() + "'");
      lines.add("  key-file: '" + tls.key() + "'");
      if (clientCertificates) {
        lines.add("  client-cert-auth: true");
        lines.add("  trusted-ca-file: '" + tls.certificate() + "'");
      }
    }
    lines.addAll(extra);
    return lines;
  }

  /** Removes a member's data while it is down, and its identity in a larger cluster. */
  void forget(Path directory, Member member) {
    if (members.size() > 1) {
      new EtcdMembership(this, member).renew();
      write(directory, member, Start.EXISTING);
    }
    Directories.delete(directory.resolve(DATA));
  }

  /** Leaves the password out. */
  @Override
  public String toString() {
    return members.toString();
  }
}
