package dev.interlock.jdbc;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.testbed.Testbed;

/** MariaDB keeps the contract. */
class MariaDbContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new JdbcHarness(() -> new DatabaseUnderTest(Testbed.mariadb().withoutSync().start()));
  }
}
