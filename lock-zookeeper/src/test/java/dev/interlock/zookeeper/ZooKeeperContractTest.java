package dev.interlock.zookeeper;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.sample.HalfOfTests;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One ZooKeeper server keeps the contract, for a user with the documented rights. */
class ZooKeeperContractTest extends LockTck {

  @RegisterExtension
  static final HalfOfTests SAMPLE =
      HalfOfTests.second("queues", "withoutRevocationTheAttemptIsRefused");

  @Override
  protected Harness harness() {
    return new ZooKeeperHarness(ZooKeeperUnderTest::startForUser);
  }
}
