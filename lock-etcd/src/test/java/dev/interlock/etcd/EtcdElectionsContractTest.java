package dev.interlock.etcd;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import java.time.Duration;
import org.junit.jupiter.api.Tag;

/**
 * The rules follow the bounds of the server: a server with another election time-out, which
 * determines its shortest leases, keeps the contract, too. The system property {@code
 * interlock.etcd.election} sets the time-out in milliseconds, 3,000 by default.
 */
@Tag("extended")
class EtcdElectionsContractTest extends LockTck {

  @Override
  protected Harness harness() {
    Duration election = Duration.ofMillis(Integer.getInteger("interlock.etcd.election", 3_000));
    return new EtcdHarness(() -> EtcdUnderTest.startWithElection(election));
  }
}
