package dev.interlock.zookeeper;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import org.junit.jupiter.api.Tag;

/** Three ZooKeeper servers keep the contract, even when they are killed or change their leader. */
@Tag("extended")
class ZooKeeperEnsembleContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new ZooKeeperHarness(() -> ZooKeeperUnderTest.start(3));
  }
}
