package dev.interlock.zookeeper;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.sample.PartOfTests;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One ZooKeeper server keeps the contract for a user with the documented rights. */
class ZooKeeperContractTest extends LockTck {

  @RegisterExtension
  static final PartOfTests SAMPLE =
      new PartOfTests(
          "networked",
          1,
          5,
          "withoutRevocationTheAttemptIsRefused",
          // on queues of stores only, which etcd has, too
          "theCostOfAReleaseDoesNotGrowWithTheWaiters",
          "theCostOfAReadersReleaseDoesNotGrowWithTheWritersThatWait");

  @Override
  protected Harness harness() {
    return new ZooKeeperHarness(ZooKeeperUnderTest::startForUser);
  }
}
