package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockUri;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks which URIs are accepted, and why the others are refused. No URI leads to a connection. */
@Isolated("all clients of the JVM read its JAAS configuration")
class ZooKeeperUriTest {

  private static final Duration SHORT_TTL = Duration.ofSeconds(1);
  private static final Duration LONG_TTL = Duration.ofSeconds(30);

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "zookeeper:// | a host is missing",
        "zookeeper://h:2181,, | is not a host and port",
        "zookeeper://h:99999 | is not a port",
        "zookeeper://h/a//b | the node of a chroot",
        "zookeeper://h/a/ | the node of a chroot",
        "zookeeper://h/.. | the node of a chroot",
        "zookeeper://h?sessionTimeout=5 | is not a duration",
        "zookeeper://h?sessionTimeout=1s | at least 3000 ms",
        "zookeeper://h?sessionTimeout=5s&tickTime=2s | at least four ticks, which is 8000 ms",
        "zookeeper://h?tickTime=1h | tickTime must be 10 ms to 1 minute",
        "zookeeper://h?namespace=a/b | namespace must be",
        "zookeeper://h?namespace=zookeeper | namespace must be",
        "zookeeper://h?caCert=/etc/hostname | add tls=true",
        "zookeeper://h?tls=yes | must be true or false",
        "zookeeper://h?tls=true&caCert=/no/such/file | must be a readable file",
        "zookeeper://user@h | user and password belong together",
        "zookeeper://:pass@h | user and password belong together",
        "zookeeper://h?otherPassword=pass%40 | a second password of a user",
        "zookeeper://user:secret@h?otherPassword= | otherPassword is empty",
        "zookeeper://h?access=all | access: must be creator or anyone",
        "zookeeper://h?sesionTimeout=10s | unknown parameter sesionTimeout",
      })
  void aUriThatCannotWorkIsRefusedWithTheReason(String uri, String message) {
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> LockClient.open(uri));
    assertTrue(e.getMessage().contains(message), e::getMessage);
    assertFalse(e.getMessage().contains("pass@"), e::getMessage);
  }

  @Test
  void theSessionTimeoutIsTheTtlByDefault() {
    assertEquals(LONG_TTL, uri("zookeeper://h").sessionTimeout(LONG_TTL));
    assertEquals(
        Duration.ofSeconds(20), uri("zookeeper://h?sessionTimeout=20s").sessionTimeout(LONG_TTL));
    assertEquals(Duration.ofSeconds(3), uri("zookeeper://h").sessionTimeout(SHORT_TTL));
    assertEquals(Duration.ofSeconds(8), uri("zookeeper://h?tickTime=2s").sessionTimeout(SHORT_TTL));
    assertEquals(SHORT_TTL, uri("zookeeper://h?tickTime=200ms").sessionTimeout(SHORT_TTL));
  }

  /** With SASL, the driver looks up the canonical name of each server before it connects. */
  @Test
  void withoutSaslTheDriverLooksUpNoNames() {
    assertFalse(uri("zookeeper://127.0.0.1").clientConfig(SHORT_TTL).isSaslClientEnabled());
  }

  @ParameterizedTest
  @ValueSource(strings = {"java.security.auth.login.config", "zookeeper.sasl.clientconfig"})
  void aNamedButMissingSaslConfigurationIsReportedByTheDriver(String property) {
    System.setProperty(property, "missing");
    try {
      assertTrue(uri("zookeeper://127.0.0.1").clientConfig(SHORT_TTL).isSaslClientEnabled());
    } finally {
      System.clearProperty(property);
    }
  }

  @Test
  void addressesAndChrootGoToTheDriverUnchanged() {
    ZooKeeperUri uri = uri("zookeeper://user:secret@one:1,[::1],three:3/app/locks?namespace=n");
    assertEquals("one:1,[::1]:2181,three:3/app/locks", uri.endpoint());
    assertEquals(List.of("user:secret"), uri.logins());
    assertEquals("n", uri.settings().namespace());
    assertEquals(3, uri.servers());
  }

  @Test
  void locksAreForTheUserAloneByDefault() {
    assertFalse(uri("zookeeper://h").isForUserAlone());
    assertTrue(uri("zookeeper://user:secret@h").isForUserAlone());
    assertTrue(uri("zookeeper://h?tls=true&clientCert=/etc/hostname").isForUserAlone());
    assertFalse(uri("zookeeper://user:secret@h?access=anyone").isForUserAlone());
    assertEquals(
        List.of("user:secret", "user:other"),
        uri("zookeeper://user:secret@h?otherPassword=other").logins());
  }

  private static ZooKeeperUri uri(String text) {
    return new ZooKeeperUri(LockUri.parse(text));
  }

  /** Every half tick, the leader asks its followers which clients they have heard from. */
  @Test
  void theDefaultTickLeavesTheLeaderTimeToAskItsFollowers() {
    for (long tick : new long[] {1_000, 1_500, 2_000, 3_000}) {
      Duration counted = ZooKeeperSettings.defaults().tickTime(Duration.ofMillis(2 * tick));
      assertTrue(counted.toMillis() >= tick * 6 / 10, () -> tick + " ms: " + counted);
    }
    assertEquals(Duration.ofSeconds(2), ZooKeeperSettings.defaults().tickTime(LONG_TTL));
    assertEquals(
        SHORT_TTL,
        ZooKeeperSettings.builder().tickTime(SHORT_TTL).build().tickTime(Duration.ofSeconds(2)));
  }
}
