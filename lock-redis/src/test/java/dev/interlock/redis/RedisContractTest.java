package dev.interlock.redis;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.testbed.RedisBuilder.AppendOnly;
import dev.interlock.testbed.Testbed;

/** One Redis that writes every change to its disk keeps the contract. */
class RedisContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() {
        return new RedisUnderTest(Testbed.redis().appendOnly(AppendOnly.ALWAYS).start());
      }

      @Override
      public boolean startsServers() {
        return true;
      }
    };
  }
}
