package dev.interlock.testbed.kit;

import dev.interlock.tck.Permissions;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.StoreView;
import dev.interlock.testbed.PasswordFile;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A disposable store, with its processes and its contents. {@link #close} ends its servers. */
abstract class StoreUnderTest implements Server, StoreView {
  private final Deployment store;
  private final String uri;
  private @Nullable PasswordFile password;

  StoreUnderTest(Deployment store, String uri) {
    this.store = store;
    this.uri = uri;
  }

  @Override
  public String uri() {
    return uri;
  }

  @Override
  public final List<ServerNode> nodes() {
    return store.members().stream().<ServerNode>map(Node::new).toList();
  }

  @Override
  public final Optional<StoreView> view() {
    return Optional.of(this);
  }

  /** Waits until a restarted server, which already answers, serves clients. */
  void awaitService(DisposableServer restarted) throws Exception {}

  @Override
  public void close() {
    try (store;
        PasswordFile unused = password) {
      // A silent server would explain why tests failed.
      store.members().forEach(server -> server.verifyAnswers(DisposableServer.LIMIT));
    }
  }

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

    @Override
    public boolean isLeader() {
      return store.leaders().contains(server);
    }
  }

  /** The permissions of a user whose password clients read from a file. */
  abstract class UserPermissions implements Permissions {
    final String user;
    final PasswordFile file;

    UserPermissions(String user) throws IOException {
      this.user = user;
      this.file = PasswordFile.create();
      password = file;
    }

    @Override
    public final String uri() {
      String address = uri.replaceFirst("://([^@/]*@)?", "://" + user + "@");
      return address + (address.contains("?") ? "&" : "?") + "passwordFile=" + file.path();
    }
  }
}
