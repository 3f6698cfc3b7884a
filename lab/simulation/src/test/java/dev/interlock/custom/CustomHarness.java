package dev.interlock.custom;

import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.kit.RedisStore;
import dev.interlock.testbed.redis.RedisServer;
import java.time.Duration;

/**
 * Gives the kit a correct or a wrong backend. The path of the URI selects it, in other processes as
 * well.
 */
public class CustomHarness implements Harness {

  private final String path;

  /** Creates the harness in other processes, which get the URI from the kit. */
  public CustomHarness() {
    this("/plain/");
  }

  /**
   * Selects a backend.
   *
   * @param path {@code plain} or {@code queue}, and the name of the fault
   */
  CustomHarness(String path) {
    this.path = path;
  }

  @Override
  public Server start() {
    return new CustomServer(Testbed.redis().start(), path);
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
    return ClientsWithTimeSource.using(backend(uri), options, time);
  }

  @Override
  public BackendFactory backend(String uri) {
    LockUri parsed = LockUri.parse(uri);
    String[] parts = parsed.path().split("/", -1);
    Fault fault = CustomFaults.named(parts[2]);
    return context ->
        parts[1].equals("queue")
            ? new CustomQueue(parsed, context, fault)
            : new CustomLock(parsed, context, fault);
  }

  /** Uses no TTL of whole seconds, so that rounding is noticed. */
  @Override
  public Timing timing(BackendInfo info) {
    Timing usual = Harness.super.timing(info);
    return new Timing(
        Duration.ofMillis(2_400),
        Duration.ofMillis(4_600),
        usual.longTtl(),
        usual.requestTimeout(),
        usual.bound());
  }

  /** A Redis with the key names of these backends. */
  private static final class CustomServer extends RedisStore {
    CustomServer(RedisServer redis, String path) {
      super(
          redis,
          "",
          path,
          new Keys(name -> "custom:lock:" + name, key -> key.startsWith("custom:tokens")));
    }

    /** Leaves deletions to the backend, whose fault may be in them. */
    @Override
    public boolean delete(String name) {
      return false;
    }
  }
}
