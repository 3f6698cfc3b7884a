package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockUri;
import java.time.Duration;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JdbcUriTest {

  private static JdbcUri read(String uri) {
    return JdbcUri.read(LockUri.parse(uri), Duration.ofMillis(2_500));
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '"',
      value = {
        "postgresql://u:p@db/shop, jdbc:postgresql://db:5432/shop",
        "\"postgresql://u:p@a,b:6432/shop\", \"jdbc:postgresql://a:5432,b:6432/shop\"",
        "postgresql://[::1]/shop, jdbc:postgresql://[::1]:5432/shop",
        "mariadb://u:p@db/shop, jdbc:mariadb://db:3306/shop",
        "mysql://u:p@db:3307/shop, jdbc:mysql://db:3307/shop",
        "h2:mem:demo, jdbc:h2:mem:demo;LOCK_TIMEOUT=1000;DB_CLOSE_DELAY=-1",
      })
  void theUriIsTranslatedToTheDriversUrl(String uri, String url) {
    assertEquals(url, read(uri).url());
  }

  @Test
  void theEndpointShowsNoUserOrPassword() {
    JdbcUri uri = read("postgresql://me:p%3Fss@db/shop");
    assertEquals("me", uri.properties().getProperty("user"));
    assertEquals("p?ss", uri.properties().getProperty("password"));
    assertEquals("db:5432/shop", uri.endpoint());
    assertFalse(uri.url().contains("p?ss"));
  }

  @Test
  void everyOperationOfTheDriverHasATimeout() {
    Properties seconds = read("postgresql://db/shop").properties();
    assertEquals("3", seconds.getProperty("connectTimeout"));
    assertEquals("3", seconds.getProperty("socketTimeout"));
    Properties millis = read("mariadb://db/shop").properties();
    assertEquals("2500", millis.getProperty("connectTimeout"));
    assertEquals("2500", millis.getProperty("socketTimeout"));
  }

  @Test
  void tlsIsPassedInTheDriversOwnWords() {
    assertEquals(
        "verify-full",
        read("postgresql://db/shop?sslmode=verify-full").properties().getProperty("sslmode"));
    assertEquals(
        "trust", read("mariadb://db/shop?sslmode=require").properties().getProperty("sslMode"));
    assertEquals(
        "VERIFY_IDENTITY",
        read("mysql://db/shop?sslmode=verify-full").properties().getProperty("sslMode"));
    assertNull(read("postgresql://db/shop").properties().getProperty("sslmode"));
  }

  @Test
  void settingsAreRead() {
    JdbcSettings settings =
        read("postgresql://db/shop?table=app.locks&createSchema=false&fenceRetention=2h")
            .settings();
    assertEquals("app.locks", settings.table());
    assertFalse(settings.createSchema());
    assertEquals(Duration.ofHours(2), settings.fenceRetention());
    assertEquals(JdbcSettings.defaults(), read("postgresql://db/shop").settings());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "postgresql://u:p@db | the path must be the name of a database",
        "postgresql:shop | a host is missing",
        "mariadb://a,b/shop | must have one host, not 2",
        "h2:demo | write h2:mem:NAME",
        "h2://db:9092 | write h2:mem:NAME",
        "h2:mem:a;INIT=x | settings of H2",
        "postgresql://db/shop?table=a-b | table must be a name",
        "postgresql://db/shop?table=a.b.c | table must be a name",
        "postgresql://db/shop?sslmode=prefer | must be disable, require, verify-ca or verify-full",
        "postgresql://db/shop?maxConnections=0 | must be a whole number from 1",
        "postgresql://db/a?b=c | unknown parameter b",
        "h2:mem:a?sslmode=require | unknown parameter sslmode",
      })
  void aUriThatCannotWorkIsRefusedBeforeAnyConnection(String uri, String problem) {
    LockConfigurationException refusal =
        assertThrows(LockConfigurationException.class, () -> LockClient.open(uri).close());
    assertTrue(String.valueOf(refusal.getMessage()).contains(problem), refusal::toString);
  }

  @Test
  void settingsAreValues() {
    JdbcSettings one = JdbcSettings.builder().table("a").build();
    assertEquals(one, JdbcSettings.builder().table("a").build());
    assertEquals(one.hashCode(), JdbcSettings.builder().table("a").build().hashCode());
    assertFalse(one.equals(JdbcSettings.defaults()));
    assertThrows(
        LockConfigurationException.class,
        () -> JdbcSettings.builder().fenceRetention(Duration.ofMillis(1)));
  }
}
