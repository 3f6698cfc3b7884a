package dev.interlock.redis;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.StoreView;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Tag;

/** A Redis whose replies take 20 ms keeps the contract: the rules do not depend on speed. */
@Tag("extended")
class DistantRedisContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return Distant::new;
  }

  private static final class Distant implements Server {
    private final RedisServer redis = Testbed.redis().start();
    private final FaultProxy distance;

    Distant() throws IOException {
      distance = FaultProxy.to(redis.host(), redis.port());
      var unused = distance.delay(Direction.SERVER_TO_CLIENT, Duration.ofMillis(20));
    }

    @Override
    public String uri() {
      return "redis://127.0.0.1:" + distance.port();
    }

    /** Shows the entries of one test: with all tests, there would be many in that time. */
    @Override
    public Optional<StoreView> view() {
      return new RedisUnderTest(redis).view();
    }

    @Override
    public void close() {
      distance.close();
      redis.close();
    }
  }
}
