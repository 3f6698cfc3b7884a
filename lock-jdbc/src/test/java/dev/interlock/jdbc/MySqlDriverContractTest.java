package dev.interlock.jdbc;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.testbed.Testbed;
import org.junit.jupiter.api.Tag;

/** MySQL's driver and the code for MySQL keep the contract on MariaDB. */
@Tag("extended")
class MySqlDriverContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new JdbcHarness(
        () -> new DatabaseUnderTest(Testbed.mariadb().withoutSync().start(), "mysql"));
  }
}
