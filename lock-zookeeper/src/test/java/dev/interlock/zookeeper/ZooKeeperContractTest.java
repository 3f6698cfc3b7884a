package dev.interlock.zookeeper;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;

/** One ZooKeeper server keeps the contract, for a user with the documented rights. */
class ZooKeeperContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new ZooKeeperHarness(ZooKeeperUnderTest::startForUser);
  }
}
