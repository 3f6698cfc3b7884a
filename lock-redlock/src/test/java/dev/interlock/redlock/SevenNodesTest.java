package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.claim;
import static dev.interlock.redlock.Backends.eventually;
import static dev.interlock.redlock.Backends.soon;
import static dev.interlock.redlock.Backends.take;
import static dev.interlock.redlock.Backends.tryTake;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Seven nodes survive the loss of three, but not of four. */
class SevenNodesTest {

  private static final String FENCE = "interlock:{job}:fence";

  @Test
  void threeOfSevenMayBeMissedAndFourMayNot() throws Exception {
    try (RedlockNodes redlock = Testbed.redlockNodes().nodes(7).forFaults().start();
        LockBackend backend = Backends.open(redlock.uri() + "?nodeTimeout=5s")) {
      List<RedisServer> nodes = redlock.members();
      Claim first = claim("job");
      Grant before = take(backend, first);
      // One that has the highest fence of all, and will not be there to say so.
      nodes.get(3).call("SET", FENCE, Long.toString(before.token() + 100));
      nodes.get(0).kill();
      nodes.get(1).pause();
      nodes.get(2).restartEmpty();

      assertInstanceOf(Renewal.Renewed.class, backend.renew(before, soon()));
      assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim("job"), soon()));
      assertTrue(backend.release(first, soon()));
      Claim second = claim("job");
      Grant during = take(backend, second);
      assertTrue(during.token() > before.token() + 100, during::toString);
      assertTrue(backend.release(second, soon()));

      nodes.get(3).kill();
      Claim third = claim("job");
      String message =
          assertThrows(LockUnavailableException.class, () -> backend.tryAcquire(third, soon()))
              .getMessage();
      assertTrue(message.contains("no majority of 4 of 7 nodes"), message);
      for (RedisServer node : nodes) {
        assertTrue(message.matches(".* 127.0.0.1:" + node.port() + "[,:] .*"), message);
      }

      undo(backend, third);
      nodes.get(1).resume();
      eventually(
          "a lock, and a token above that of the node that has gone",
          () ->
              tryTake(backend, claim("job"))
                  .filter(grant -> grant.token() > during.token())
                  .isPresent());
    }
  }

  private static void undo(LockBackend backend, Claim claim) throws InterruptedException {
    try {
      backend.release(claim, soon());
    } catch (LockUnavailableException e) {
      // No majority says so, but those that are there have done it.
    }
  }
}
