package dev.interlock.etcd;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.sample.PartOfTests;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A single etcd keeps the contract for a user who may only read and write the keys of locks. */
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
