package dev.interlock.etcd;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;

/** One etcd keeps the contract, with a user who may read and write locks' keys and nothing else. */
class EtcdContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new EtcdHarness(EtcdUnderTest::startForUser);
  }
}
