package dev.interlock.redis;

import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisBuilder.AppendOnly;
import java.time.Duration;

/**
 * A wrong lock on a real Redis. Subclasses have a constructor without parameters, so that other
 * processes can be given the same lock.
 */
abstract class RedisSpecimen implements Harness {

  /** The backend with its fault. */
  abstract LockBackend backend(String uri, BackendContext context);

  static LockBackend right(String uri, BackendContext context) {
    return new RedisProvider().open(LockUri.parse(uri), context);
  }

  @Override
  public Server start() {
    return new RedisUnderTest(Testbed.redis().appendOnly(appendOnly()).start());
  }

  AppendOnly appendOnly() {
    return AppendOnly.OFF;
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
        Duration.ofSeconds(30),
        Duration.ofSeconds(2),
        Duration.ofSeconds(4));
  }
}
