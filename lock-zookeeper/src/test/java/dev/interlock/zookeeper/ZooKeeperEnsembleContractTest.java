package dev.interlock.zookeeper;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import java.io.IOException;
import org.junit.jupiter.api.Tag;

/** Three ZooKeeper servers keep the contract, also when they are killed and change their leader. */
@Tag("extended")
class ZooKeeperEnsembleContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() throws IOException {
        return ZooKeeperUnderTest.start(3);
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
