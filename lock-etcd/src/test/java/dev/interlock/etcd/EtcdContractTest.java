package dev.interlock.etcd;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import java.io.IOException;

/** One etcd keeps the contract, with a user who may read and write locks' keys and nothing else. */
class EtcdContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() throws IOException, InterruptedException {
        return EtcdUnderTest.startForUser();
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
