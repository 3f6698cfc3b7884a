package dev.interlock.zookeeper;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import java.time.Duration;
import org.junit.jupiter.api.Tag;

/**
 * The rules follow the bounds that the backend declares. A server with another {@code tickTime}
 * keeps the contract, too, even if its clients do not know it. The system property {@code
 * interlock.zookeeper.tick} sets the tickTime in milliseconds, ZooKeeper's own 2,000 by default.
 */
@Tag("extended")
class ZooKeeperTicksContractTest extends LockTck {

  @Override
  protected Harness harness() {
    Duration tick = Duration.ofMillis(Integer.getInteger("interlock.zookeeper.tick", 2_000));
    return new ZooKeeperHarness(() -> ZooKeeperUnderTest.start(tick));
  }
}
