package dev.interlock.peers;

import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.StoreView;
import dev.interlock.testbed.server.DisposableServer;
import java.util.List;
import java.util.Optional;

/** The servers of a library, as the kit sees them. */
abstract class PeerStore implements Server, StoreView {
  private final List<? extends DisposableServer> servers;

  /**
   * Shows servers to the kit.
   *
   * @param servers those that the kit may stop, where they are not the user's
   */
  PeerStore(List<? extends DisposableServer> servers) {
    this.servers = servers;
  }

  @Override
  public final List<ServerNode> nodes() {
    return servers.stream().filter(DisposableServer::canBeHurt).<ServerNode>map(Node::new).toList();
  }

  @Override
  public final Optional<StoreView> view() {
    return Optional.of(this);
  }

  /** Waits until a server that has been started again, and answers, also serves. */
  void awaitService(DisposableServer server) throws Exception {}

  /** The process of one server. */
  private final class Node implements ServerNode {
    private final DisposableServer server;

    Node(DisposableServer server) {
      this.server = server;
    }

    @Override
    public void pause() {
      server.pause();
    }

    @Override
    public void resume() {
      server.resume();
    }

    @Override
    public void kill() {
      server.kill();
    }

    @Override
    public void restart() throws Exception {
      server.restart();
      awaitService(server);
    }
  }
}
