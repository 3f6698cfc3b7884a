package dev.interlock.zookeeper;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import java.time.Duration;
import org.junit.jupiter.api.Tag;

/** A ZooKeeper server keeps the contract also where its ticks take much of a session. */
@Tag("extended")
class ZooKeeperTicksContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new ZooKeeperHarness(() -> ZooKeeperUnderTest.start(Duration.ofMillis(500)));
  }
}
