package dev.interlock.etcd;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;

/** One etcd keeps the contract. */
class EtcdContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() throws InterruptedException {
        return EtcdUnderTest.start(1);
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
