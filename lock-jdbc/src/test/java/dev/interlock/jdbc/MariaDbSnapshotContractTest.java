package dev.interlock.jdbc;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.testbed.Testbed;
import org.junit.jupiter.api.Tag;

/** MariaDB also keeps the contract when it refuses to change rows that have changed meanwhile. */
@Tag("extended")
class MariaDbSnapshotContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new JdbcHarness(
        () ->
            new DatabaseUnderTest(
                Testbed.mariadb().config("innodb_snapshot_isolation = ON").withoutSync().start()));
  }
}
