package dev.interlock.redlock;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.testbed.RedisBuilder.AppendOnly;
import dev.interlock.testbed.Testbed;

/** Five nodes that write every change to their disks keep the contract. */
class RedlockContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() {
        // The kit delays answers by half a second, which must not use up a node's time.
        return new RedlockUnderTest(
            Testbed.redlockNodes().appendOnly(AppendOnly.ALWAYS).start(),
            "?durable=true&nodeTimeout=1500ms");
      }

      @Override
      public boolean startsServers() {
        return true;
      }
    };
  }
}
