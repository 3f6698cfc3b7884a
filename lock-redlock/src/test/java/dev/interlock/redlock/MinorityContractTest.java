package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.ReleaseOutcome;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.report.TestResult;
import dev.interlock.tck.report.TestResult.Status;
import dev.interlock.tck.run.ContractRun;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisBuilder.AppendOnly;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import dev.interlock.testbed.server.DisposableServer.State;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The contract is kept with two of five nodes dead, stopped, or come back empty, since a lock was
 * held. By default rules of every kind are tested; with {@code -Dinterlock.redlock.whole}, all that
 * need no node of their own to stop.
 */
@Tag("extended")
class MinorityContractTest {

  private static final List<String> SOME =
      List.of("EXCL-01", "EXCL-03", "WAIT-03", "WAIT-05", "LEASE-02", "LEASE-04", "FENCE-01");

  private static final List<String> NODES_OF_THEIR_OWN = List.of("FAULT-*", "FENCE-02");

  /** The failures of the minority. */
  enum Trouble {
    DEAD {
      @Override
      void befall(RedisServer node) {
        node.kill();
      }
    },
    STOPPED {
      @Override
      void befall(RedisServer node) {
        node.pause();
      }
    },
    EMPTY {
      @Override
      void befall(RedisServer node) {
        node.restartEmpty();
      }
    };

    abstract void befall(RedisServer node);
  }

  @ParameterizedTest
  @EnumSource
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void theContractIsKeptWithoutAMinority(Trouble trouble) {
    ContractRun run =
        ContractRun.of(
            new Troubled(trouble),
            System.getProperty("interlock.redlock.whole") == null ? SOME : List.of("*"),
            NODES_OF_THEIR_OWN,
            new PrintWriter(Writer.nullWriter(), false));
    List<String> failures =
        run.tests().stream()
            .filter(test -> test.status() == Status.FAILED)
            .map(test -> test.test() + ": " + test.reason())
            .toList();
    assertEquals(List.of(), failures);
    long passed =
        run.tests().stream().map(TestResult::status).filter(Status.PASSED::equals).count();
    System.out.println(trouble + ": " + passed + " tests passed");
    assertFalse(passed == 0);
  }

  /**
   * Starts nodes that all tests share, and whose minority fails before the first test. The failure
   * must not begin between two steps of a test: a lock that was released by a majority, and loses
   * two of these nodes at once, may seem held until the release reaches the others.
   */
  private record Troubled(Trouble trouble) implements Harness {

    @Override
    public Server start() {
      Nodes nodes = new Nodes(Testbed.redlockNodes().appendOnly(AppendOnly.ALWAYS).start());
      try (LockClient client = LockClient.open(nodes.uri())) {
        Lease lease = client.lock("held").tryAcquire().orElseThrow();
        nodes.minority().forEach(trouble::befall);
        assertNotEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
      }
      return nodes;
    }
  }

  private record Nodes(RedlockNodes redlock) implements Server {

    private List<RedisServer> minority() {
      return redlock.members().subList(0, 2);
    }

    @Override
    public String uri() {
      return redlock.uri() + "?durable=true&nodeTimeout=1500ms";
    }

    @Override
    public boolean delete(String name) throws IOException {
      long deleted = 0;
      for (RedisServer node : redlock.members()) {
        if (node.state() == State.RUNNING) {
          deleted += (Long) node.call("DEL", LockKeys.of("interlock", name).toString());
        }
      }
      return deleted > 0;
    }

    @Override
    public void close() {
      redlock.close();
    }
  }
}
