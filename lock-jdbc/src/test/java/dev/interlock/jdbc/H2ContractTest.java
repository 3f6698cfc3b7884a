package dev.interlock.jdbc;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import java.sql.SQLException;

/** A server of H2 that keeps its data in memory keeps the contract, as far as it goes. */
class H2ContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return H2Server::new;
  }

  private static final class H2Server implements Server {
    private final org.h2.tools.Server server;

    H2Server() throws SQLException {
      server =
          org.h2.tools.Server.createTcpServer("-tcpPort", "0", "-ifNotExists", "-tcpDaemon")
              .start();
    }

    @Override
    public String uri() {
      return "h2://127.0.0.1:" + server.getPort() + "/mem:locks";
    }

    @Override
    public void close() {
      server.stop();
    }
  }
}
