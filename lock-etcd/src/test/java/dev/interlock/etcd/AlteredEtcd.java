package dev.interlock.etcd;

import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import java.time.Duration;
import java.util.function.Function;

/** A real etcd, and clients with a fault in them. */
final class AlteredEtcd implements Harness {

  private final Function<EtcdBackend, LockBackend> fault;

  AlteredEtcd(Function<EtcdBackend, LockBackend> fault) {
    this.fault = fault;
  }

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

  @Override
  public LockClient open(String uri, LockOptions options) {
    return open(uri, options, TimeSource.system());
  }

  @Override
  public LockClient open(String uri, LockOptions options, TimeSource time) {
    return ClientsWithTimeSource.using(
        context -> fault.apply((EtcdBackend) new EtcdProvider().open(LockUri.parse(uri), context)),
        options,
        time);
  }

  @Override
  public Duration storm() {
    return Duration.ofSeconds(3);
  }
}
