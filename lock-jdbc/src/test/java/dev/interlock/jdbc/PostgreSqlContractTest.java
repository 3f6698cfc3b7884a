package dev.interlock.jdbc;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.sample.PartOfTests;
import dev.interlock.testbed.Testbed;
import org.junit.jupiter.api.extension.RegisterExtension;

/** PostgreSQL keeps the contract. */
class PostgreSqlContractTest extends LockTck {

  @RegisterExtension static final PartOfTests SAMPLE = new PartOfTests("networked", 3, 5);

  @Override
  protected Harness harness() {
    return new JdbcHarness(() -> new DatabaseUnderTest(Testbed.postgresql().withoutSync().start()));
  }
}
