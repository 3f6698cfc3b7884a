package dev.interlock.etcd;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import org.junit.jupiter.api.Tag;

/** A cluster of three keeps the contract. */
@Tag("extended")
class EtcdClusterContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() throws InterruptedException {
        return EtcdUnderTest.start(3);
      }

      @Override
      public Timing timing(BackendInfo info) {
        return EtcdUnderTest.timing(info);
      }

      @Override
      public boolean startsServers() {
        return true;
      }
    };
  }
}
