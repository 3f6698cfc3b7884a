package dev.interlock.jdbc;

import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import java.util.concurrent.Callable;

/** Starts a database for the kit. */
final class JdbcHarness implements Harness {

  private final Callable<Server> start;

  JdbcHarness(Callable<Server> start) {
    this.start = start;
  }

  @Override
  public Server start() throws Exception {
    return start.call();
  }

  @Override
  public boolean startsServers() {
    return true;
  }
}
