package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.cli.Interlock.Result;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Behaviour that all commands share. */
class MainTest {
  @AutoClose private final Interlock interlock = new Interlock();

  @ParameterizedTest
  @ValueSource(
      strings = {
        "backends",
        "elect",
        "exec",
        "inspect",
        "leader",
        "list",
        "release",
        "tck",
        "compare",
        "storm"
      })
  void everyCommandExplainsItself(String command) throws Exception {
    Result result = interlock.run(command, "--help").assertDone();
    assertTrue(result.out().startsWith("Usage: interlock " + command), result::out);
    result.out().lines().forEach(line -> assertTrue(line.length() <= 80, line));
  }

  @Test
  void helpListsTheCommandsAndTheExitCodes() throws Exception {
    String help = interlock.run("--help").assertDone().out();
    for (String expected :
        new String[] {
          "backends",
          "elect",
          "exec",
          "inspect",
          "leader",
          "list",
          "release",
          "tck",
          "compare",
          "69"
        }) {
      assertTrue(help.contains(expected), help);
    }
  }

  @Test
  void printsItsVersion() throws Exception {
    String version = interlock.run("--version").assertDone().out();
    assertTrue(version.matches("(?s)interlock \\d+\\.\\d+\\.\\d+\\S*\nJava .*"), version);
  }

  @Test
  void wrongUsageIsReportedInOneLineWithASuggestion() throws Exception {
    interlock
        .run()
        .assertFailed(
            2,
            "give a command: backends, elect, exec, inspect, leader, list, release, tck, compare"
                + " or storm");
    interlock.run("exce").assertFailed(2, "exec");
    interlock
        .run("exec", "--wiat", "1s", "memory:x", "job", "--", "true")
        .assertFailed(2, "--wait");
    interlock.run("exec", "memory:x").assertFailed(2, "NAME");
    interlock.run("exec", "memory:x", "job").assertFailed(2, "COMMAND");
    interlock.run("inspect", "memory:x").assertFailed(2, "NAME");
    interlock
        .run("exec", "--wait", "soon", "memory:x", "job", "--", "true")
        .assertFailed(2, "\"soon\" is not a duration");
  }

  @Test
  void anInvalidNameIsRefused() throws Exception {
    interlock.run("inspect", "memory:x", "").assertFailed(2, "must not be empty");
    interlock.run("exec", "memory:x", "a".repeat(256), "--", "true").assertFailed(2, "255");
  }

  @Test
  void anInvalidUriIsRefused() throws Exception {
    interlock.run("inspect", "nosuch://host", "job").assertFailed(2, "memory:demo");
    interlock.run("inspect", "memory:x?trem=1s", "job").assertFailed(2, "trem");
    interlock.run("inspect", "no uri at all", "job").assertFailed(2, "scheme");
  }

  @Test
  void theUriCanBeReadFromAFile(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("uri"), "memory:x?label=me\n");
    interlock.run("inspect", "file:" + file, "job").assertDone();
    interlock.run("inspect", "env:NO_SUCH", "job").assertFailed(2, "environment variable NO_SUCH");
    interlock.run("inspect", "file:" + directory, "job").assertFailed(2, "cannot be read");
    Files.writeString(file, "redis://:s3cret@h\nmemory:y");
    Result two = interlock.run("inspect", "file:" + file, "job");
    two.assertFailed(2, "must hold one line");
    assertFalse(two.err().contains("s3cret"), two::err);
  }

  @Test
  void noMessageRepeatsAPassword() throws Exception {
    for (String[] arguments :
        new String[][] {
          {"backends", "redis://user:s3cret@host"},
          {"redis://user:s3cret@host"},
          {"inspect", "nosuch://user:s3cret@host", "job"},
          {"inspect", "redis://user:s3cret@host:port", "job"},
          {"inspect", "redis://user:s3c/ret@host:1", "job", "redis://user:s3cret@host"},
          {"inspect", "redis://user:s3cret@host?x=y", "job"},
          {"inspect", "redis://user:s3c?ret@host", "job"},
          {"inspect", "redis://user:s3cret", "job"},
          {"inspect", "redis://h", "job", "redis-sentinel://h/m?sentinelPassword=s3c ret"},
          {"inspect", "--debug", "redis://h", "job", "redis://user:s3cret@host"},
        }) {
      Result result = interlock.run(arguments);
      assertEquals(2, result.exitCode(), result::toString);
      assertFalse((result.out() + result.err()).contains("s3c"), result::toString);
    }
  }

  @Test
  void onlyDebugPrintsStackTraces() throws Exception {
    Result plain = interlock.run("inspect", "nosuch:x", "job");
    plain.assertFailed(2, "nosuch");
    Result debug = interlock.run("inspect", "--debug", "nosuch:x", "job");
    assertEquals(2, debug.exitCode());
    assertTrue(debug.err().contains("\tat dev.interlock."), debug::err);
    assertEquals(plain.err(), debug.err().lines().findFirst().orElseThrow());
  }

  @Test
  void theEnvironmentCanSetTheUriAndTheLogLevel() throws Exception {
    String uri = "memory:x?autoRenew=false&ttl=200ms";
    Result quiet = runInEnvironment(Map.of("INTERLOCK_URI", uri));
    assertEquals(76, quiet.exitCode());
    assertFalse(quiet.err().contains("LockClient"), quiet::err);
    Result loud = runInEnvironment(Map.of("INTERLOCK_URI", uri, "INTERLOCK_LOG", "trace"));
    assertEquals(76, loud.exitCode());
    assertTrue(loud.err().contains("LockClient"), loud::err);
  }

  private Result runInEnvironment(Map<String, String> environment) throws Exception {
    return interlock
        .launch(
            environment,
            Interlock.commandLine("exec", "env:INTERLOCK_URI", "job", "--", "sleep", "600"))
        .await();
  }
}
