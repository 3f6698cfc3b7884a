package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Fault;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockProvider;
import java.time.Duration;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A wrong URI is refused before any connection is made. The hosts do not exist, so an attempt to
 * connect would fail in another way.
 */
class RedisUriTest {

  private static final String SECRET = "s3cret";

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "redis://USER@nohost.invalid/three | must be the number of a database",
        "redis://USER@nohost.invalid/-1 | must be the number of a database",
        "redis://USER@nohost.invalid/0/1 | must be the number of a database",
        "redis://USER@nohost.invalid/99999999 | must be the number of a database",
        "redis://USER@nohost.invalid,second.invalid | must have one host, not 2",
        "redis://USER@nohost.invalid:0 | is not a port",
        "redis://USER@nohost.invalid?database=3 | unknown parameter database",
        "redis://USER@nohost.invalid?namspace=x | unknown parameter namspace",
        "redis://USER@nohost.invalid?namespace=a{b} | namespace must be",
        "redis://USER@nohost.invalid?namespace= | namespace must be",
        "redis://USER@nohost.invalid?fenceRetention=7 | not a duration",
        "redis://USER@nohost.invalid?fenceRetention=10ms | must be between 1 s and 3650 days",
        "redis://USER@nohost.invalid?connectTimeout=0s | must be at least 1ms",
        "redis://USER@nohost.invalid?waitReplicas=-1 | from 0 to 100",
        "redis://USER@nohost.invalid?maxConnections=0 | from 1 to 10000",
        "redis://USER@nohost.invalid?caCert=/etc/hostname | write rediss://",
        "redis://nohost.invalid?passwordEnv=NO_SUCH | no environment variable",
        "rediss://USER@nohost.invalid?caCert=/nowhere.pem | must be a readable file",
        "rediss://USER@nohost.invalid?caCert=/etc/hostname | must be a readable file",
        "redis:nohost | a host is missing",
        "redis-cluster://USER@nohost.invalid/3 | has database 0 only",
        "redis-cluster://USER@nohost.invalid?sentinelUser=x | unknown parameter sentinelUser",
        "redis-sentinel://USER@nohost.invalid | must be the name under which the sentinels",
        "redis-sentinel://USER@nohost.invalid/a/b | must be the name under which the sentinels",
        "redis-sentinel://USER@nohost.invalid/m?database=x | whole number",
        "redis-sentinel://USER@nohost.invalid/m?sentinelPassword=s3cret&x=1 | unknown parameter x",
        "redis-sentinel://USER@nohost.invalid/m?sentinelUser=me | sentinelPassword is missing",
      })
  void whatIsWrongIsSaidWithoutThePassword(String uri, String message) {
    LockConfigurationException e =
        assertThrows(
            LockConfigurationException.class,
            () -> LockClient.open(uri.replace("USER", "me:" + SECRET)));
    assertTrue(e.getMessage().contains(message), e::getMessage);
    assertFalse(e.toString().contains(SECRET), e::toString);
  }

  @Test
  void aUserWithoutAPasswordIsHalfALogin() {
    LockConfigurationException e =
        assertThrows(
            LockConfigurationException.class, () -> Backends.open("redis://me@nohost.invalid"));
    assertTrue(e.getMessage().contains("user:password@host"), e::getMessage);
  }

  @Test
  void theProvidersAreFoundAndServeSixSchemes() {
    Set<String> schemes = new TreeSet<>();
    for (LockProvider provider : ServiceLoader.load(LockProvider.class)) {
      if (provider.getClass().getPackage() == RedisProvider.class.getPackage()) {
        for (String scheme : provider.schemes()) {
          schemes.add(scheme);
          assertTrue(provider.example(scheme).startsWith(scheme + "://"));
          assertFalse(provider.describe(scheme).summary().isEmpty());
        }
      }
    }
    assertEquals(
        Set.of(
            "redis",
            "rediss",
            "redis-cluster",
            "rediss-cluster",
            "redis-sentinel",
            "rediss-sentinel"),
        schemes);
  }

  @Test
  void noTopologyPromisesExclusionOverALossOfWrites() {
    for (RedisTopology topology : RedisTopology.values()) {
      for (Fault fault : Set.of(Fault.SERVER_RESTARTED_EMPTY, Fault.ASYNC_FAILOVER)) {
        assertFalse(topology.info().failureModel().keepsExclusion(fault));
        assertTrue(topology.info().failureModel().keepsTokenOrder(fault));
      }
    }
  }

  @Test
  void settingsAreValues() {
    RedisSettings settings =
        RedisSettings.builder()
            .namespace("a/b:c_d.e-f")
            .fenceRetention(Duration.ofDays(1))
            .waitReplicas(2)
            .build();
    assertEquals("a/b:c_d.e-f", settings.namespace());
    assertEquals(RedisSettings.builder().build(), RedisSettings.defaults());
    assertFalse(settings.equals(RedisSettings.defaults()));
    assertTrue(settings.toString().contains("waitReplicas=2"));
  }
}
