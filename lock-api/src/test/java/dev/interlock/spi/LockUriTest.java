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
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
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

  /** Every printable ASCII character that is neither a letter nor a digit, in a password. */
  static List<String> secrets() {
    return IntStream.rangeClosed(' ', '~')
        .filter(c -> !Character.isLetterOrDigit(c))
        .mapToObj(c -> "hunter" + (char) c + "secret")
        .toList();
  }

  private static void assertHides(String text) {
    assertFalse(text.contains("hunter") || text.contains("secret"), text);
  }

  private static void assertHides(LockConfigurationException e) {
    assertHides(String.valueOf(e.getMessage()));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://:hunter2%@h",
        "redis://:hunter2%zz@h/",
        "redis://u:hunter2@h:x",
        "redis://:hunter2?@localhost?ttl=5s",
        "redis://u:12?hunter=2@localhost",
        "redis://u:hunter2",
        "redis://:hunter2",
        "redis://h,u:hunter2"
      })
  void aPasswordNeverAppearsInAMessage(String text) {
    assertHides(
        assertThrows(LockConfigurationException.class, () -> LockUri.parse(text).endpoints(6379)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://u:hunter2@h",
        "redis:u:hunter2@h",
        "redis:/:hunter2@h",
        "redis://u:hunter2",
        "redis://h?password=hunter2",
      })
  void aPasswordNeverAppearsInToString(String text) {
    assertHides(LockUri.parse(text).toString());
  }

  @ParameterizedTest
  @MethodSource("secrets")
  void aPasswordWithAnyCharacterIsTakenWholeOrRefusedUnseen(String secret) {
    for (String text :
        List.of(
            "redis://me:" + secret + "@localhost/0?ttl=5s", "redis://:" + secret + "@[::1]:1,h")) {
      LockUri uri;
      try {
        uri = LockUri.parse(text);
      } catch (LockConfigurationException e) {
        assertTrue(secret.contains("%") || secret.contains("?"), text);
        assertHides(e);
        continue;
      }
      assertEquals(Optional.of(secret), uri.password());
      assertHides(uri.toString());
    }
  }

  @Test
  void aQuestionMarkBeforeAnAtIsRefusedSinceItMayEndTheAddressOrBePartOfAPassword() {
    LockConfigurationException e =
        assertThrows(
            LockConfigurationException.class, () -> LockUri.parse("redis://:p@h?holder=me@host"));
    assertTrue(e.getMessage().contains("%3F") && e.getMessage().contains("%40"), e.getMessage());
    assertEquals(
        Optional.of("me@host"), LockUri.parse("redis://:p@h?holder=me%40host").text("holder"));
    assertEquals(Optional.of("me@host"), LockUri.parse("memory:x?holder=me@host").text("holder"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          redis://:hunter2@h                      | redis://***@h
          redis://u@h:1/0?ttl=5s                  | redis://***@h:1/0?ttl=5s
          REDISS://U:hunter2@H                    | REDISS://***@H
          etcd://u:hunter2@h1:1,[::1]:2,h3/0      | etcd://***@h1:1,[::1]:2,h3/0
          redis:/u:hunter2@h                      | redis:/***@h
          //u:hunter2@h is no URI                 | //***@h is no URI
          redis://h/m?a=b&sentinelPassword=hunter | redis://h/m?a=b&sentinelPassword=***
          zookeeper://u:hunter2@h?otherPassword=x | zookeeper://***@h?otherPassword=***
          redis://h?sentinelPassword=hunter@2     | redis://***
          redis://:hunter?token=2@h               | redis://***
          x://h?API_TOKEN=hunter&a=b               | x://h?API_TOKEN=***
          redis://a:hunter@h1 or "etcd://b:secret@h2" | redis://***@h1 or "etcd://***@h2"
          redis://h1 or etcd://b:secret@h2 failed | redis://h1 or etcd://***@h2 failed
          held by me@host at redis://h            | held by me@host at redis://h
          redis at h:6379: held by me@host        | redis at h:6379: held by me@host
          lease with token=5                      | lease with token=5
          write user:password@host                | write user:password@host
          """)
  void redactedTextHasUrisWithoutLoginsAndSecrets(String text, String redacted) {
    assertEquals(redacted, LockUri.redact(text));
  }

  @ParameterizedTest
  @MethodSource("secrets")
  void redactedTextHidesAPasswordWithAnyCharacter(String secret) {
    assertEquals(
        "cannot open \"redis://***@[::1]:6379,h2/0?ttl=5s\": it is down",
        LockUri.redact(
            "cannot open \"redis://me:" + secret + "@[::1]:6379,h2/0?ttl=5s\": it is down"));
    assertHides(LockUri.redact("cannot open redis://h/m?sentinelPassword=" + secret + ": no"));
    assertHides(LockUri.redact("cannot open redis://u:p@h/m?sentinelPassword=" + secret));
    assertHides(LockUri.redact("redis://:a@" + secret + "?password=" + secret + "@h"));
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
