package dev.interlock.testbed.redis;

import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.ServerGroup;
import dev.interlock.testbed.server.Servers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Several Redis servers behind one URI. */
abstract class RedisDeployment extends ServerGroup<RedisServer> {

  /**
   * Creates a deployment of servers that the testbed has started.
   *
   * @param scheme the scheme without TLS
   * @param listed the servers that the URI lists
   * @param path the part of the URI after the servers
   */
  RedisDeployment(
      List<RedisServer> members,
      String scheme,
      List<RedisServer> listed,
      String path,
      @Nullable PeerGates gates) {
    super(members.get(0).endpoint().uri(scheme, Servers.addresses(listed), path), members, gates);
  }

  /**
   * Creates a deployment of servers that the user named.
   *
   * @throws IOException if the first server does not answer
   */
  RedisDeployment(EndpointUri uri) throws IOException {
    super(uri, RedisEndpoint.of(uri).version());
  }

  @Override
  public final Optional<Path> caCertificate() {
    return members().isEmpty() ? Optional.empty() : members().get(0).caCertificate();
  }

  /**
   * Also makes the server refuse its replicas and the sentinels. A replica that is cut off still
   * follows its primary.
   */
  @Override
  public final void cutOff(DisposableServer member) {
    super.cutOff(member);
    ((RedisServer) member).refusePeers();
  }

  @Override
  public final void reconnect(DisposableServer member) {
    ((RedisServer) member).admitPeers();
    super.reconnect(member);
  }
}
