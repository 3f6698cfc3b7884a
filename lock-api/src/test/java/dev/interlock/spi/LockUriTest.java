package dev.interlock.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockUri.Endpoint;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class LockUriTest {

  @Test
  void parsesEveryPart() {
    LockUri uri =
        LockUri.parse("Redis://al%40ce:p%3As%2Fs@h1:1,[::1]:2,h3/db%201?a=1%262&ttl=5m&on=true");
    assertEquals("redis", uri.scheme());
    assertEquals(Optional.of("al@ce"), uri.user());
    assertEquals(Optional.of("p:s/s"), uri.password());
    assertEquals(
        List.of(new Endpoint("h1", 1), new Endpoint("::1", 2), new Endpoint("h3", 6379)),
        uri.endpoints(6379));
    assertEquals("/db 1", uri.path());
    assertEquals(Optional.of("1&2"), uri.get(text("a")));
    assertEquals(Optional.of(Duration.ofMinutes(5)), uri.get(ClientParameters.TTL));
    assertEquals(Optional.of(true), uri.get(UriParameter.flag("on", false, "")));
    assertEquals(Optional.empty(), uri.get(text("b")));
    assertEquals("redis://h1:1,[::1]:2,h3/db 1", uri.toString());
    uri.requireOnly(List.of(text("a"), text("b"), ClientParameters.TTL, text("on")));
  }

  private static UriParameter<String> text(String name) {
    return UriParameter.text(name, null, "");
  }

  @Test
  void aUriWithoutAnAddressIsSchemeAndPath() {
    LockUri uri = LockUri.parse("memory:a/b?x=1");
    assertEquals("a/b", uri.path());
    assertEquals("memory:a/b", uri.toString());
    assertThrows(LockConfigurationException.class, () -> uri.endpoints(1));
  }

  @Test
  void aRawPasswordEndsAtTheLastAt() {
    LockUri uri = LockUri.parse("redis://:p@ss/word@host/0");
    assertEquals(Optional.empty(), uri.user());
    assertEquals(Optional.of("p@ss/word"), uri.password());
    assertEquals(List.of(new Endpoint("host", 6379)), uri.endpoints(6379));
  }

  @Test
  void aUserWithoutAPasswordIsParsed() {
    LockUri uri = LockUri.parse("redis://alice@host");
    assertEquals(Optional.of("alice"), uri.user());
    assertEquals(Optional.empty(), uri.password());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "localhost", "://x", "1x:y", "hunter2@host"})
  void theErrorForAMissingSchemeDoesNotRepeatTheText(String text) {
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
  @ValueSource(
      strings = {
        "redis://h/%",
        "redis://h/%1",
        "redis://h/%zz",
        "redis://h/%\uff14\uff11",
        "redis://h/%ff"
      })
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
  void aPasswordWithAnyCharacterIsParsedWholeOrRefusedWithoutShowingIt(String secret) {
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
            LockConfigurationException.class, () -> LockUri.parse("redis://:p@h?label=me@host"));
    assertTrue(e.getMessage().contains("%3F") && e.getMessage().contains("%40"), e.getMessage());
    assertEquals(
        Optional.of("me@host"), LockUri.parse("redis://:p@h?label=me%40host").get(text("label")));
    assertEquals(
        Optional.of("me@host"), LockUri.parse("memory:x?label=me@host").get(text("label")));
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
  void parametersWithWrongValuesAreRefused() {
    LockUri uri = LockUri.parse("redis://h?d=5&n=x&f=yes&z=0s&m=7&short=PT0.0001S");
    assertRefused(uri, UriParameter.duration("d", null, ""), "d: \"5\" is not a duration");
    assertRefused(uri, UriParameter.duration("z", null, ""), "z: must be at least 1ms");
    assertRefused(uri, UriParameter.duration("short", null, ""), "at least 1ms");
    assertRefused(uri, UriParameter.integer("n", 0, 9, null, ""), "from 0 to 9, not \"x\"");
    assertRefused(uri, UriParameter.integer("m", 0, 6, null, ""), "from 0 to 6, not \"7\"");
    assertRefused(uri, UriParameter.flag("f", true, ""), "must be true or false, not \"yes\"");
    assertRefused(uri, UriParameter.file("f", null, ""), "must be a readable file; \"yes\" is not");
    assertEquals(Optional.of(7), uri.get(UriParameter.integer("m", 0, 7, null, "")));
    assertThrows(LockConfigurationException.class, () -> LockUri.parse("redis://h?a=1&a=2"));
    assertThrows(LockConfigurationException.class, () -> LockUri.parse("redis://h?a"));
  }

  private static void assertRefused(LockUri uri, UriParameter<?> parameter, String why) {
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> uri.get(parameter));
    assertTrue(e.getMessage().startsWith("redis URI: parameter "), e.getMessage());
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  @Test
  void unknownParametersAreRefusedAndTheKnownOnesListed() {
    LockUri uri = LockUri.parse("redis://h?namespac=x&b=1");
    LockConfigurationException e =
        assertThrows(
            LockConfigurationException.class,
            () -> uri.requireOnly(List.of(text("namespace"), LockUri.PASSWORD, text("b"))));
    assertEquals(
        "redis URI: unknown parameter namespac; the known ones are b, namespace, passwordEnv,"
            + " passwordFile",
        e.getMessage());
  }

  @Test
  void aPasswordMayBeInAFileOrAnEnvironmentVariable(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("p"), "hunter %2\n\n");
    assertEquals(
        Optional.of("hunter %2"), LockUri.parse("redis://me@h?passwordFile=" + file).password());
    assertEquals(
        Optional.of(System.getenv("PATH")), LockUri.parse("redis://h?passwordEnv=PATH").password());
    UriParameter<String> secret = UriParameter.secret("otherPassword", "");
    assertEquals(
        Optional.of("hunter %2"), LockUri.parse("x://h?otherPasswordFile=" + file).get(secret));
    assertEquals(Optional.of("it"), LockUri.parse("x://h?otherPassword=it").get(secret));
  }

  @Test
  void aPasswordInAFileIsReadAgainAndKeptWhileTheFileIsBeingReplaced(@TempDir Path directory)
      throws Exception {
    Path file = Files.writeString(directory.resolve("p"), "first\n");
    LockUri uri = LockUri.parse("redis://me@h?passwordFile=" + file);
    assertEquals(Optional.of("first"), uri.password());
    Files.delete(file);
    assertEquals(Optional.of("first"), uri.password());
    for (String unusable : new String[] {"", "\n"}) {
      Files.writeString(file, unusable);
      assertEquals(Optional.of("first"), uri.password());
    }
    Files.write(file, new byte[] {'a', (byte) 0xC3}); // the beginning of a character
    assertEquals(Optional.of("first"), uri.password());
    Files.writeString(file, "second\n");
    assertEquals(Optional.of("second"), uri.password());
  }

  @Test
  void anEmptyPasswordFileIsRefused(@TempDir Path directory) throws Exception {
    Path file = Files.createFile(directory.resolve("p"));
    LockUri uri = LockUri.parse("redis://me@h?passwordFile=" + file);
    LockConfigurationException e = assertThrows(LockConfigurationException.class, uri::password);
    assertTrue(e.getMessage().contains("is empty"), e.getMessage());
  }

  /** A shell passes such a pipe for {@code passwordFile=<(command)}. */
  @Test
  @EnabledOnOs(OS.LINUX)
  void aPasswordInAPipeIsReadOnce(@TempDir Path directory) throws Exception {
    Path pipe = directory.resolve("p");
    assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
    CompletableFuture<Path> written =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return Files.writeString(pipe, "piped\n");
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });
    LockUri uri = LockUri.parse("redis://me@h?passwordFile=" + pipe);
    assertEquals(Optional.of("piped"), uri.password());
    assertEquals(pipe, written.get());
    assertEquals(Optional.of("piped"), uri.password());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://:hunter2@h?passwordEnv=PATH",
        "redis://h?passwordEnv=PATH&passwordFile=/dev/null",
        "redis://h?passwordFile=/no/such/file",
        "redis://h?passwordFile=/",
        "redis://h?passwordEnv=NO_SUCH_VARIABLE"
      })
  void aPasswordThatIsGivenTwiceOrCannotBeReadIsRefused(String text) {
    LockUri uri = LockUri.parse(text);
    LockConfigurationException e = assertThrows(LockConfigurationException.class, uri::password);
    assertTrue(e.getMessage().contains("password"), e.getMessage());
    assertHides(e);
  }

  @Test
  void durationsMayBeInTheFormOfIso8601() {
    assertEquals(Duration.ofMillis(1500), DurationSyntax.parse("PT1.5S"));
    assertEquals(Duration.ofHours(26), DurationSyntax.parse("P1DT2H"));
    assertThrows(IllegalArgumentException.class, () -> DurationSyntax.parse("PT-1S"));
    assertThrows(IllegalArgumentException.class, () -> DurationSyntax.parse("P1Y"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "5", "s", "1.5s", "-1s", "5 s", "5S", "9999999999999s"})
  void durationsAreAWholeNumberAndAUnit(String text) {
    assertThrows(IllegalArgumentException.class, () -> DurationSyntax.parse(text));
  }
}
