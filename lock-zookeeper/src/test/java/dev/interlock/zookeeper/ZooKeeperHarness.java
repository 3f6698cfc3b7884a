package dev.interlock.zookeeper;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import java.util.concurrent.Callable;

/** Starts ZooKeeper for the kit, with suitable time limits. */
class ZooKeeperHarness implements Harness {

  private final Callable<Server> start;

  ZooKeeperHarness(Callable<Server> start) {
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

  @Override
  public Timing timing(BackendInfo info) {
    return ZooKeeperUnderTest.timing(info);
  }
}
