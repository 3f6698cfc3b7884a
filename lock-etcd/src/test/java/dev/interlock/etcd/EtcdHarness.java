package dev.interlock.etcd;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import java.util.concurrent.Callable;

/** Starts etcd for the kit, with suitable time limits. */
class EtcdHarness implements Harness {

  private final Callable<Server> start;

  EtcdHarness(Callable<Server> start) {
    this.start = start;
  }

  @Override
  public Server start() throws Exception {
    return start.call();
  }

  @Override
  public Timing timing(BackendInfo info) {
    return EtcdUnderTest.timing(info);
  }

  @Override
  public boolean startsServers() {
    return true;
  }
}
