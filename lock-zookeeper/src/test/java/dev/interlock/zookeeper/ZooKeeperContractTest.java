package dev.interlock.zookeeper;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;

/** One ZooKeeper server keeps the contract, for a user with the documented rights. */
class ZooKeeperContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() throws Exception {
        return ZooKeeperUnderTest.startForUser();
      }

      @Override
      public boolean startsServers() {
        return true;
      }

      @Override
      public Timing timing(BackendInfo info) {
        return ZooKeeperUnderTest.timing(info);
      }
    };
  }
}
