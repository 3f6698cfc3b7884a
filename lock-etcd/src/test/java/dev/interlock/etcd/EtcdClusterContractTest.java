package dev.interlock.etcd;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import org.junit.jupiter.api.Tag;

/** A cluster of three keeps the contract. */
@Tag("extended")
class EtcdClusterContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new EtcdHarness(() -> EtcdUnderTest.start(3));
  }
}
