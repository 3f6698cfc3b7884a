package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class SchemaPageTest {

  @Test
  void thePageShowsTheStatementsOfMigrationTools() throws IOException {
    Matcher shown =
        Pattern.compile("<!-- schema: postgresql -->\n```sql\n(.*?)```", Pattern.DOTALL)
            .matcher(Files.readString(Path.of("../docs/backends/jdbc.md")));
    assertTrue(shown.find(), "the page does not show them");
    assertEquals(
        JdbcLocks.schema(JdbcDatabase.POSTGRESQL, JdbcSettings.defaults()), shown.group(1));
  }
}
