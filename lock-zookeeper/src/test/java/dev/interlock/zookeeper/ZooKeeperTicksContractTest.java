package dev.interlock.zookeeper;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Tag;

/** A ZooKeeper server keeps the contract also where its ticks take much of a session. */
@Tag("extended")
class ZooKeeperTicksContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() throws IOException {
        return ZooKeeperUnderTest.start(Duration.ofMillis(500));
      }

      @Override
      public boolean startsServers() {
        return true;
      }

      @Override
      public Timing timing(BackendInfo info) {
        return ZooKeeperUnderTest.timing(info);
      }
    };
  }
}
