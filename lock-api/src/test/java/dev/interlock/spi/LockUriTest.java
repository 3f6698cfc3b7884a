package dev.interlock.spi;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockUri.Endpoint;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LockUriTest {

  @Test
  void takesEveryPartApart() {
    LockUri uri =
        LockUri.parse("Redis://al%40ce:p%3As%2Fs@h1:1,[::1]:2,h3/db%201?a=1%262&ttl=5m&on=true");
    assertEquals("redis", uri.scheme());
    assertEquals(Optional.of("al@ce"), uri.user());
    assertEquals(Optional.of("p:s/s"), uri.password());
    assertEquals(
        List.of(new Endpoint("h1", 1), new Endpoint("::1", 2), new Endpoint("h3", 6379)),
        uri.endpoints(6379));
    assertEquals("/db 1", uri.path());
    assertEquals(Optional.of("1&2"), uri.text("a"));
    assertEquals(Optional.of(Duration.ofMinutes(5)), uri.duration("ttl"));
    assertEquals(Optional.of(true), uri.flag("on"));
    assertEquals(Optional.empty(), uri.text("b"));
    assertEquals("redis://h1:1,[::1]:2,h3/db 1", uri.toString());
    assertDoesNotThrow(uri::requireAllRead);
  }

  @Test
  void aUriWithoutAnAddressIsSchemeAndPath() {
    LockUri uri = LockUri.parse("memory:a/b?x=1");
    assertEquals("a/b", uri.path());
    assertEquals("memory:a/b", uri.toString());
    assertThrows(LockConfigurationException.class, () -> uri.endpoints(1));
  }

  @Test
  void aPasswordPastedRawIsTakenUpToTheLastAt() {
    LockUri uri = LockUri.parse("redis://:p@ss/word@host/0");
    assertEquals(Optional.empty(), uri.user());
    assertEquals(Optional.of("p@ss/word"), uri.password());
    assertEquals(List.of(new Endpoint("host", 6379)), uri.endpoints(6379));
  }

  @Test
  void theUserAloneIsNoPassword() {
    LockUri uri = LockUri.parse("redis://alice@host");
    assertEquals(Optional.of("alice"), uri.user());
    assertEquals(Optional.empty(), uri.password());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "localhost", "://x", "1x:y", "hunter2@host"})
  void withoutASchemeNothingIsRepeated(String text) {
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> LockUri.parse(text));
    assertTrue(e.getMessage().contains("starts with a scheme"), e.getMessage());
    assertFalse(e.getMessage().contains("hunter2"), e.getMessage());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://:1",
        "redis://h:0",
        "redis://h:65536",
        "redis://h:x",
        "redis://h:",
        "redis://h1,",
        "redis://[::1",
        "redis://::1",
        "redis://"
      })
  void addressesThatCannotWorkAreRefused(String text) {
    LockUri uri = LockUri.parse(text);
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> uri.endpoints(6379));
    assertTrue(e.getMessage().contains("6379"), e.getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"redis://h/%", "redis://h/%1", "redis://h/%zz", "redis://h/%ff"})
  void brokenPercentEncodingIsRefused(String text) {
    assertThrows(LockConfigurationException.class, () -> LockUri.parse(text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"redis://:hunter2%@h", "redis://:hunter2%zz@h/", "redis://u:hunter2@h:x"})
  void aPasswordNeverAppearsInAMessage(String text) {
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> LockUri.parse(text).endpoints(6379));
    assertFalse(e.getMessage().contains("hunter2"), e.getMessage());
    assertFalse(LockUri.parse("redis://u:hunter2@h").toString().contains("hunter2"));
  }

  @Test
  void parametersThatDoNotFitAreRefused() {
    LockUri uri = LockUri.parse("redis://h?d=5&n=x&f=yes&z=0s&m=7");
    assertThrows(LockConfigurationException.class, () -> uri.duration("d"));
    assertThrows(LockConfigurationException.class, () -> uri.duration("z"));
    assertThrows(LockConfigurationException.class, () -> uri.integer("n", 0, 9));
    assertThrows(LockConfigurationException.class, () -> uri.integer("m", 0, 6));
    assertThrows(LockConfigurationException.class, () -> uri.flag("f"));
    assertEquals(OptionalInt.of(7), uri.integer("m", 0, 7));
    assertThrows(LockConfigurationException.class, () -> LockUri.parse("redis://h?a=1&a=2"));
    assertThrows(LockConfigurationException.class, () -> LockUri.parse("redis://h?a"));
  }

  @Test
  void parametersThatNobodyReadAreRefusedAndTheKnownOnesListed() {
    LockUri uri = LockUri.parse("redis://h?namespac=x");
    Optional<String> namespace = uri.text("namespace");
    assertEquals(Optional.empty(), namespace);
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, uri::requireAllRead);
    assertEquals("redis URI: unknown parameter namespac; there are namespace", e.getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "5", "s", "1.5s", "-1s", "5 s", "5S", "9999999999999s"})
  void durationsAreAWholeNumberAndAUnit(String text) {
    assertThrows(IllegalArgumentException.class, () -> DurationSyntax.parse(text));
  }
}
