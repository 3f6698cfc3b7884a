package dev.interlock.jdbc;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.testbed.Testbed;

/** PostgreSQL keeps the contract. */
class PostgreSqlContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new JdbcHarness(() -> new DatabaseUnderTest(Testbed.postgresql().withoutSync().start()));
  }
}
