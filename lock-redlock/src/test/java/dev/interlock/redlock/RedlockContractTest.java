package dev.interlock.redlock;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.sample.PartOfTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisBuilder.AppendOnly;
import dev.interlock.testbed.redis.RedisRights;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Five nodes that write every change to their disks keep the contract, for a user with the
 * documented rights.
 */
class RedlockContractTest extends LockTck {

  @RegisterExtension
  static final PartOfTests SAMPLE =
      new PartOfTests(
          "networked",
          2,
          5,
          // on no other store that is tested by default
          "withoutSemaphoresTheyAreRefused",
          "aMinorityMayDieAndTheClientRecoversFromADeadMajority",
          "waitersDoNotPollWhenTheHolderLacksSomeNodes",
          "waitersDoNotPollWithAMinorityOutOfReach");

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() throws IOException {
        RedisRights rights = RedisRights.read(Path.of("..", "docs", "operating.md"), "redlock");
        // The kit delays answers by half a second, which must not use up a node's time.
        return new RedlockUnderTest(
            rights.grantOn(Testbed.redlockNodes().appendOnly(AppendOnly.ALWAYS)).start(),
            "?durable=true&nodeTimeout=1500ms",
            rights.userInfo());
      }

      @Override
      public boolean startsServers() {
        return true;
      }
    };
  }
}
