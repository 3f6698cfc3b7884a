package dev.interlock.redis;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisBuilder.AppendOnly;
import dev.interlock.testbed.redis.RedisRights;
import java.io.IOException;

/**
 * One Redis that writes every change to its disk keeps the contract, for a user with the documented
 * rights.
 */
class RedisContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() throws IOException {
        RedisRights rights = EveryRight.documented("redis");
        return new RedisUnderTest(
            rights.grantOn(Testbed.redis().appendOnly(AppendOnly.ALWAYS)).start(),
            rights.userInfo());
      }

      @Override
      public boolean startsServers() {
        return true;
      }
    };
  }
}
