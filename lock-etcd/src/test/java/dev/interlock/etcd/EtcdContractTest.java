package dev.interlock.etcd;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.sample.PartOfTests;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One etcd keeps the contract, with a user who may read and write locks' keys and nothing else. */
class EtcdContractTest extends LockTck {

  @RegisterExtension
  static final PartOfTests SAMPLE =
      new PartOfTests(
          "networked",
          0,
          5,
          // on queues of stores only, which ZooKeeper has, too
          "aWaiterThatTheStoreHasForgottenEntersTheQueueAgain",
          "aWaiterThatWasStoppedForLongIsServed");

  @Override
  protected Harness harness() {
    return new EtcdHarness(EtcdUnderTest::startForUser);
  }
}
