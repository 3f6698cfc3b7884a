package dev.interlock.etcd;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.function.Function;

/** A real etcd whose clients have a fault. */
final class AlteredEtcd extends EtcdHarness {

  private final Function<EtcdBackend, LockBackend> fault;

  AlteredEtcd(Function<EtcdBackend, LockBackend> fault) {
    super(() -> EtcdUnderTest.start(1));
    this.fault = fault;
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
  public Duration faultDuration() {
    return Duration.ofSeconds(3);
  }
}
