package dev.interlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.BackendInfoBuilder;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LockClientTest {

  @Test
  void opensByScheme() throws Exception {
    try (LockClient client = LockClient.open("memory:opens");
        LockClient other = LockClient.open("MEMORY:opens?ttl=1m&label=me")) {
      try (Lease lease = other.lock("a").acquire()) {
        assertEquals(Optional.empty(), client.lock("a").tryAcquire());
        LockState state = client.admin().inspect("a");
        assertEquals(Optional.of("me"), state.holder().flatMap(first -> first.label()));
        assertEquals(lease.fencingToken(), state.fencingToken().orElseThrow());
        assertEquals(Duration.ofMinutes(1), lease.effectiveTtl());
      }
      assertFalse(client.admin().inspect("a").isHeld());
    }
  }

  @Test
  void theErrorForAnUnknownSchemeListsTheBackends() {
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> LockClient.open("nosuch://u:pw@h/db"));
    assertTrue(e.getMessage().contains("memory:demo"), e.getMessage());
    assertTrue(e.getMessage().contains("correct the scheme"), e.getMessage());
    assertFalse(e.getMessage().contains("pw"), e.getMessage());
  }

  @ParameterizedTest
  @CsvSource({
    "redis, lock-redis",
    "rediss-cluster, lock-redis",
    "redlocks, lock-redlock",
    "etcd, lock-etcd",
    "zookeeper, lock-zookeeper",
    "postgresql, lock-jdbc",
    "mariadb, lock-jdbc",
    "mysql, lock-jdbc",
    "h2, lock-jdbc"
  })
  void aSchemeWhoseModuleIsMissingNamesTheDependency(String scheme, String module) {
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> LockClient.open(scheme + "://h"));
    String hint = "add the dependency dev.interlock:" + module + ". ";
    assertTrue(e.getMessage().contains(hint), e.getMessage());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "memory:",
        "memory:x?trem=5s",
        "memory:x?ttl=5",
        "memory:x?ttl=999d",
        "memory:x?autoRenew=1",
        "memory:x?label="
      })
  void uriThatCannotWorkIsRefused(String uri) {
    assertThrows(LockConfigurationException.class, () -> LockClient.open(uri));
  }

  @Test
  void theDefaultLabelIsHostProcessAndThread() throws Exception {
    try (LockClient client = LockClient.open("memory:holder")) {
      Thread.currentThread().setName("ma\nin");
      try (Lease lease = client.lock("a").acquire()) {
        assertTrue(lease.isHeld());
        String holder =
            client.admin().inspect("a").holder().flatMap(first -> first.label()).orElseThrow();
        assertTrue(holder.endsWith("/" + ProcessHandle.current().pid() + "/ma?in"), () -> holder);
      } finally {
        Thread.currentThread().setName("main");
      }
    }
  }

  @Test
  void namesAreCheckedBeforeAnythingElse() {
    try (LockClient client = LockClient.open("memory:names")) {
      String longest = "\uD83D\uDD12".repeat(255);
      assertEquals(longest, client.lock(longest).name());
      assertThrows(IllegalArgumentException.class, () -> client.lock(longest + "x"));
      assertThrows(IllegalArgumentException.class, () -> client.lock(""));
      assertThrows(IllegalArgumentException.class, () -> client.lock("a\uD83D"));
      assertThrows(IllegalArgumentException.class, () -> client.lock("\uDD12a"));
      assertThrows(IllegalArgumentException.class, () -> client.admin().inspect(""));
      assertThrows(IllegalArgumentException.class, () -> client.admin().forceRelease(""));
      assertThrows(IllegalArgumentException.class, () -> client.admin().revoke(""));
    }
  }

  @Test
  void timesToWaitMustNotBeNegative() {
    Duration timeout = Duration.ofMillis(-1);
    try (LockClient client = LockClient.open("memory:times")) {
      DistributedLock lock = client.lock("a");
      MultiLock locks = client.multiLock(List.of("a"));
      assertThrows(IllegalArgumentException.class, () -> lock.tryAcquire(timeout));
      assertThrows(IllegalArgumentException.class, () -> lock.tryAcquireAsync(timeout));
      assertThrows(IllegalArgumentException.class, () -> locks.tryAcquire(timeout));
      assertThrows(IllegalArgumentException.class, () -> locks.tryAcquireAsync(timeout));
      assertThrows(IllegalArgumentException.class, () -> LockOptions.builder().ttl(timeout));
    }
  }

  @Test
  void theOptionsOfALockAreThoseOfItsClientExceptForChanges() throws Exception {
    String uri = "memory:derived?ttl=7s&label=svc-a&outageTimeout=3s&pollInterval=2s";
    try (LockClient client = LockClient.open(uri)) {
      LockOptions expected =
          LockOptions.builder()
              .ttl(Duration.ofSeconds(7))
              .label("svc-a")
              .outageTimeout(Duration.ofSeconds(3))
              .pollInterval(Duration.ofSeconds(2))
              .build();
      assertEquals(expected, client.options());
      Consumer<LockOptions.Builder> limited = options -> options.maxHold(Duration.ofMinutes(5));
      try (Lease one = client.lock("a", limited).acquire();
          Lease set = client.multiLock(List.of("b"), limited).acquire()) {
        assertEquals(Duration.ofSeconds(7), one.effectiveTtl());
        assertEquals(Duration.ofSeconds(7), set.effectiveTtl());
        assertEquals(
            Optional.of("svc-a"),
            client.admin().inspect("a").holder().flatMap(first -> first.label()));
      }
      assertEquals(expected, client.options());
    }
  }

  @Test
  void aLockHasTheRequestTimeoutOfItsClient() {
    try (LockClient client = LockClient.open("memory:refused?requestTimeout=1s")) {
      Consumer<LockOptions.Builder> patient = o -> o.requestTimeout(Duration.ofSeconds(10));
      IllegalArgumentException refused =
          assertThrows(IllegalArgumentException.class, () -> client.lock("a", patient));
      assertTrue(refused.getMessage().contains("requestTimeout"), refused.getMessage());
      assertThrows(IllegalArgumentException.class, () -> client.multiLock(List.of("a"), patient));
      assertEquals("a", client.lock("a", o -> o.requestTimeout(Duration.ofSeconds(1))).name());
    }
  }

  @Test
  void optionsHaveTheValuesThatWereSet() {
    LockOptions options =
        LockOptions.builder()
            .ttl(Duration.ofSeconds(5))
            .autoRenew(false)
            .maxHold(Duration.ofMinutes(1))
            .requestTimeout(Duration.ofMillis(500))
            .waitTimeout(Duration.ofSeconds(7))
            .outageTimeout(Duration.ofSeconds(9))
            .pollInterval(Duration.ofMillis(300))
            .label("me")
            .build();
    assertEquals(options, options.toBuilder().build());
    assertEquals(options.hashCode(), options.toBuilder().build().hashCode());
    assertFalse(options.equals(options.toBuilder().label("you").build()));
    assertEquals(Duration.ofSeconds(9), options.outageTimeout());
    LockOptions asLongAsTheTtl = options.toBuilder().outageTimeout(null).build();
    assertEquals(options.ttl(), asLongAsTheTtl.outageTimeout());
    assertFalse(options.equals(asLongAsTheTtl));
    assertThrows(IllegalArgumentException.class, () -> LockOptions.builder().label("a\nb"));
    assertThrows(IllegalArgumentException.class, () -> LockOptions.builder().label(""));
    assertThrows(
        IllegalArgumentException.class, () -> LockOptions.builder().ttl(Duration.ofDays(366)));
  }

  @Test
  void aFaultWithoutADeclaredGuaranteeHasNone() {
    FailureModel model =
        BackendInfoBuilder.of("test", "")
            .guarantee(FailureModel.Guarantee.TOKENS_ONLY, Fault.ASYNC_FAILOVER)
            .build()
            .failureModel();
    assertFalse(model.keepsExclusion(Fault.ASYNC_FAILOVER));
    assertTrue(model.keepsTokenOrder(Fault.ASYNC_FAILOVER));
    assertEquals(FailureModel.Guarantee.NOTHING, model.under(Fault.PARTITION));
    assertEquals(Fault.values().length, model.table().size());
  }
}
