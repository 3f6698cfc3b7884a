package dev.interlock.redis;

import com.google.common.util.concurrent.Uninterruptibles;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.testbed.Testbed;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/**
 * Clients keep the contract although their log takes 100 ms for each line, one after the other, and
 * each has a listener that does not return from the first event. The same log slows down the tests
 * that run beside it in the same JVM.
 */
@Tag("extended")
class SlowLogContractTest extends LockTck {

  /** Blocks the listeners; not in other JVMs, which count the objects that a client keeps. */
  private static volatile CountDownLatch end = new CountDownLatch(0);

  private final PrintStream fast = System.err;

  @BeforeAll
  void slowDown() {
    end = new CountDownLatch(1);
    System.setErr(
        new PrintStream(fast, true, Charset.defaultCharset()) {
          @Override
          public void println(String line) {
            Uninterruptibles.sleepUninterruptibly(Duration.ofMillis(100));
            super.println(line);
          }
        });
  }

  @AfterAll
  void speedUp() {
    System.setErr(fast);
    end.countDown();
  }

  @Override
  protected Harness harness() {
    return new Blocked();
  }

  static final class Blocked implements Harness {
    @Override
    public Server start() throws IOException {
      return new RedisUnderTest(Testbed.redis().start());
    }

    @Override
    public boolean startsServers() {
      return true;
    }

    @Override
    public LockClient open(String uri, LockOptions options) {
      return listening(Harness.super.open(uri, options));
    }

    @Override
    public LockClient open(String uri, LockOptions options, TimeSource time) {
      return listening(Harness.super.open(uri, options, time));
    }

    private static LockClient listening(LockClient client) {
      var unused = client.onEvent(event -> Uninterruptibles.awaitUninterruptibly(end));
      return client;
    }
  }
}
