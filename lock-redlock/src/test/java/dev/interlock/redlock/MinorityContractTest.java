package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.tck.ContractRun;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.report.TestResult;
import dev.interlock.tck.report.TestResult.Status;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisBuilder.AppendOnly;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import dev.interlock.testbed.server.DisposableServer.State;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The contract is kept with two of five nodes dead, stopped, or come back empty, which begins while
 * locks are held. By default rules of every kind are tested; with {@code
 * -Dinterlock.redlock.whole}, all that need no node of their own to stop.
 */
@Tag("extended")
class MinorityContractTest {

  private static final List<String> SOME =
      List.of("EXCL-01", "EXCL-03", "WAIT-03", "WAIT-05", "LEASE-02", "LEASE-04", "FENCE-01");

  private static final List<String> NODES_OF_THEIR_OWN = List.of("FAULT-*", "FENCE-02");

  /** What happens to the minority. */
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

  /** The same nodes for all tests, and in trouble soon after the first clients have come. */
  private record Troubled(Trouble trouble) implements Harness {

    @Override
    public Server start() {
      RedlockNodes redlock = Testbed.redlockNodes().appendOnly(AppendOnly.ALWAYS).start();
      Thread fate = new Thread(() -> strike(redlock.members()), "trouble");
      fate.setDaemon(true);
      fate.start();
      return new Nodes(redlock, fate);
    }

    private void strike(List<RedisServer> nodes) {
      try {
        // As soon as locks have been granted, and before most of them are released.
        while (nodes.get(2).call("HGET", "interlock:redlock", "floor") instanceof String floor
            ? floor.equals("0")
            : true) {
          TimeUnit.MILLISECONDS.sleep(20);
        }
        for (RedisServer node : nodes.subList(0, 2)) {
          trouble.befall(node);
        }
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException("the nodes were not struck", e);
      }
    }
  }

  private record Nodes(RedlockNodes redlock, Thread fate) implements Server {

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
        try {
          if (node.state() == State.RUNNING) {
            deleted += (Long) node.call("DEL", LockKeys.of("interlock", name).toString());
          }
        } catch (IOException e) {
          if (!minority().contains(node)) {
            throw e;
          }
          // It was struck meanwhile.
        }
      }
      return deleted > 0;
    }

    @Override
    public void close() {
      try {
        fate.join(Duration.ofMinutes(1).toMillis());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      redlock.close();
    }
  }
}
