package dev.interlock.redlock;

import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import dev.interlock.testbed.Testbed;
import java.time.Duration;

/**
 * A wrong lock on five real nodes. Subclasses have a constructor without parameters, so that other
 * processes can be given the same lock.
 */
abstract class RedlockSpecimen implements Harness {

  /** The backend with its fault. */
  abstract LockBackend backend(String uri, BackendContext context);

  @Override
  public Server start() {
    return new RedlockUnderTest(Testbed.redlockNodes().start(), "");
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
    return ClientsWithTimeSource.using(context -> backend(uri, context), options, time);
  }

  @Override
  public Timing timing(BackendInfo info) {
    return new Timing(
        Duration.ofSeconds(2),
        Duration.ofSeconds(4),
        Duration.ofMinutes(3), // longer than any wait for what was left behind
        Duration.ofSeconds(2),
        Duration.ofSeconds(4));
  }
}
