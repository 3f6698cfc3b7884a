package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.cli.Interlock.Result;
import dev.interlock.testbed.Testbed;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code exec} and its child, without a server. */
class ExecTest {
  /** A wrong command line must be reported before any connection is opened. */
  private static final String UNREACHABLE = "redis://127.0.0.1:1";

  private static final String SHOW_TOKEN = "echo $INTERLOCK_TOKEN; exit 5";

  /** Other tests in this JVM use other stores. */
  private final String uri = "memory:exec-" + UUID.randomUUID();

  @AutoClose private final Interlock interlock = new Interlock();

  @Test
  void runsACommandWithoutAServer() throws Exception {
    assertEquals(new Result(0, "", ""), interlock.run("exec", "memory:x", "demo", "--", "true"));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 75, 255})
  void exitsWithTheExitCodeOfTheChild(int exitCode) throws Exception {
    assertEquals(exitCode, interlock.run(exec("exit " + exitCode)).exitCode());
  }

  @Test
  void exitsWith128PlusTheSignalThatEndedTheChild() throws Exception {
    assertEquals(137, interlock.run(exec("kill -KILL $$")).exitCode());
    assertEquals(134, interlock.run(exec("kill -ABRT $$")).exitCode());
  }

  @Test
  void passesStandardStreamsNameAndTokenToTheChild() throws Exception {
    Run run =
        interlock.launch(
            Map.of("INTERLOCK_TOKEN", "outer", "INTERLOCK_NAME", "outer"),
            Interlock.commandLine(
                exec(
                    "echo \"$INTERLOCK_NAME $INTERLOCK_TOKEN\"; read line; echo \"out $line\";"
                        + " echo \"err $line\" >&2; cat")));
    assertTrue(Long.parseLong(run.out().await("job ").substring("job ".length())) > 0);
    run.type("first");
    run.out().await("out first");
    run.err().await("err first");
    run.type("second");
    run.out().await("second");
    run.signal("TERM");
    assertEquals(143, run.await().exitCode());
  }

  @Test
  void passesArgumentsOnUnchanged(@TempDir Path directory) throws Exception {
    List<String> arguments =
        List.of("@file", "'quoted'", "two words", "", "--", "-v", "--help", "ü€😀", "${user.home}");
    List<String> command =
        Interlock.commandLine(
            "exec",
            uri,
            "ü job",
            "--",
            "sh",
            "-c",
            "echo \"<$INTERLOCK_NAME>\"; for a in \"$@\"; do echo \"<$a>\"; done",
            "sh");
    command.addAll(arguments);
    Result result = interlock.runIn("C.UTF-8", command, directory);
    assertEquals("<ü job>\n<" + String.join(">\n<", arguments) + ">", result.out(), result::err);
  }

  @Test
  void refusesArgumentsThatTheLocaleCannotExpress(@TempDir Path directory) throws Exception {
    List<String> command = Interlock.commandLine("exec", uri, "ü", "--", "true");
    interlock.runIn("C", command, directory).assertFailed(2, "set LC_ALL=C.UTF-8");
  }

  @Test
  void exitsWith127IfThereIsNoSuchProgram() throws Exception {
    interlock.run(execute("no-such-program")).assertFailed(127, "no-such-program was not found");
    interlock.run(execute("/no/such/program")).assertFailed(127, "/no/such/program was not found");
  }

  @Test
  void exitsWith126IfTheProgramCannotBeRun(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("data"), "no program");
    interlock.run(execute(file.toString())).assertFailed(126, file + " cannot be run");
    interlock.run(execute(directory.toString())).assertFailed(126, directory + " cannot be run");
  }

  @Test
  void passesSignalsOnAndWaitsForTheChild() throws Exception {
    Run run =
        interlock.launch(
            exec(
                "trap 'echo got HUP' HUP; trap 'echo got INT' INT;"
                    + " trap 'echo got TERM; read go; exit 5' TERM;"
                    + " echo ready; while :; do sleep 0.1; done"));
    run.out().await("ready");
    for (String signal : List.of("HUP", "INT", "TERM")) {
      run.signal(signal);
      run.out().await("got " + signal);
    }
    assertTrue(run.isAlive());
    run.type("go");
    assertEquals(5, run.await().exitCode());
  }

  @Test
  void exitsWithTheExitCodeOfAChildThatASignalEnded() throws Exception {
    Run run = interlock.start(exec("echo ready; exec sleep 600"));
    run.out().await("ready");
    run.signal("TERM");
    assertEquals(143, run.await().exitCode());
  }

  @Test
  void doesNotRepeatAControlCThatTheTerminalSends(@TempDir Path directory) throws Exception {
    requireTerminal();
    Path script =
        Files.writeString(
            directory.resolve("count"),
            """
            trap 'echo interrupted' INT
            test -t 0 && test -t 1 && echo terminal
            read go
            read go
            echo "read $go"
            """);
    List<String> inner = Interlock.commandLine("exec", uri, "job", "--", "bash", script.toString());
    Run run =
        interlock.launch(
            Map.of("SHELL", "/bin/sh"),
            List.of(
                "script",
                "--quiet",
                "--return",
                "--command",
                Interlock.script(inner),
                "/dev/null"));
    run.out().await("terminal");
    run.type("\3"); // Control-C, and a line end for the first read
    run.out().await("interrupted");
    run.type("on");
    run.out().await("read on");
    Result result = run.await();
    assertEquals(0, result.exitCode(), result::toString);
    assertEquals(1, count("interrupted", result.out()), result::out);
  }

  /** Skips the test where there are no terminals, as in a chroot without /dev/pts. */
  private void requireTerminal() throws Exception {
    List<String> command =
        List.of("script", "--quiet", "--return", "--command", "true", "/dev/null");
    Result result = interlock.launch(Map.of("SHELL", "/bin/sh"), command).await();
    assumeTrue(result.exitCode() == 0 || Testbed.requiresAll(), () -> "no terminal: " + result);
  }

  @Test
  void doesNotKeepTheLockForADaemonWithoutTheVariable() throws Exception {
    Run run =
        interlock.start(
            exec(
                "(unset INTERLOCK_EXEC; exec sleep 600 >/dev/null 2>&1 </dev/null) & p=$!;"
                    // Until exec(2) the process still has its parent's variables.
                    + " until read -r name </proc/$p/comm && test \"$name\" = sleep;"
                    + " do sleep 0.05; done; echo $p"));
    Result result = run.await();
    long daemon = Long.parseLong(result.out());
    try {
      assertEquals(0, result.exitCode());
      assertEquals("", result.err());
      assertTrue(ProcessHandle.of(daemon).isPresent());
    } finally {
      ProcessHandle.of(daemon).ifPresent(ProcessHandle::destroyForcibly);
    }
  }

  @Test
  void endsTheChildAndItsDescendantsWhenTheLeaseIsLost() throws Exception {
    String script = "sleep 600 & sleep 601 & echo in; wait";
    Run run = interlock.start("exec", "--ttl", "6s", uri, "job", "--", "sh", "-c", script);
    run.out().await("in");
    interlock.run("release", "--force", uri, "job").assertDone();
    Result result = run.await();
    assertEquals(76, result.exitCode());
    assertTrue(result.err().contains("lease of \"job\" lost (TAKEN)"), result::err);
    assertTrue(result.err().contains("SIGTERM now, SIGKILL in 10.0 s"), result::err);
    assertFalse(result.err().contains("killed"), result::err);
  }

  @Test
  void endsTheChildEvenIfNobodyReadsTheMessages(@TempDir Path directory) throws Exception {
    String unread = directory.resolve("unread").toString();
    List<String> command =
        new ArrayList<>(
            List.of(
                "sh",
                "-c",
                // Open for reading as well, so that it can be filled completely.
                "mkfifo '"
                    + unread
                    + "' && exec 3<>'"
                    + unread
                    + "'; dd if=/dev/zero of='"
                    + unread
                    + "' oflag=nonblock 2>/dev/null; exec \"$@\" 2>&3",
                "sh"));
    command.addAll(
        Interlock.commandLine("exec", uri + "?maxHold=500ms", "job", "--", "sleep", "600"));
    assertEquals(76, interlock.launch(Map.of(), command).await().exitCode());
  }

  @Test
  void losesTheLeaseAfterTheTtlIfTheUriForbidsRenewal() throws Exception {
    Result result =
        interlock.run(
            "exec", "--ttl", "200ms", uri + "?autoRenew=false", "job", "--", "sleep", "600");
    assertEquals(76, result.exitCode());
    assertTrue(result.err().contains("(EXPIRED)"), result::err);
  }

  @Test
  void verboseReportsEachStep() throws Exception {
    Result result = interlock.run("exec", "--verbose", uri, "job", "--", "true");
    assertEquals(
        """
        interlock: waiting for "job" at %s
        interlock: acquired "job"
        interlock: released "job\"\
        """
            .formatted(uri.substring("memory:".length())),
        result.err());
  }

  @ParameterizedTest
  @ValueSource(strings = {"--shared", "--exclusive", "--permits=1/1", "--permits=2/3"})
  void runsTheChildWithEveryKindOfLock(String share) throws Exception {
    Result result =
        interlock.run(
            "exec", share, "--wait=0s", "--ttl=9s", uri, "job", "--", "sh", "-c", SHOW_TOKEN);
    assertEquals(new Result(5, result.out(), ""), result);
    assertTrue(Long.parseLong(result.out()) > 0, result::toString);
  }

  @ParameterizedTest
  @ValueSource(strings = {"--shared", "--exclusive", "--permits=2/3"})
  void endsTheChildWhenAShareIsLost(String share) throws Exception {
    Result result =
        interlock.run("exec", share, uri + "?maxHold=500ms", "job", "--", "sh", "-c", "sleep 600");
    assertEquals(76, result.exitCode());
    assertTrue(result.err().contains("lease of \"job\" lost (MAX_HOLD)"), result::err);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"0/3", "4/3", "3", "a/b", "-1/3", "1/-3", "1/0", "1/2/3", "1 /3", "/", ""})
  void refusesInvalidPermits(String permits) throws Exception {
    interlock
        .run("exec", "--permits", permits, UNREACHABLE, "job", "--", "true")
        .assertFailed(2, "'--permits': \"" + permits + "\"");
  }

  @Test
  void refusesMorePermitsThanAnIntCanCount() throws Exception {
    for (String permits : List.of("1/2147483648", "2147483648/3", "1/99999999999999999999")) {
      interlock
          .run("exec", "--permits", permits, UNREACHABLE, "job", "--", "true")
          .assertFailed(2, "at most 2147483647");
    }
    interlock.run("exec", "--permits=1/2147483647", uri, "job", "--", "true").assertDone();
  }

  @Test
  void refusesTwoKindsOfLockAtOnce() throws Exception {
    for (List<String> two :
        List.of(
            List.of("--shared", "--exclusive"),
            List.of("--shared", "--permits=1/2"),
            List.of("--exclusive", "--permits=1/2"))) {
      interlock
          .run("exec", two.get(0), two.get(1), UNREACHABLE, "job", "--", "true")
          .assertFailed(2, "mutually exclusive");
    }
  }

  @Test
  void refusesAKindOfLockThatTheBackendLacks() throws Exception {
    String redlock = "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3";
    interlock
        .run("exec", "--permits=1/2", redlock, "job", "--", "true")
        .assertFailed(2, "redlock has no semaphores");
  }

  @Test
  void refusesATtlThatIsGivenTwice() throws Exception {
    interlock
        .run("exec", "--ttl", "5s", uri + "?ttl=9s", "job", "--", "true")
        .assertFailed(2, "give it once");
  }

  @Test
  void refusesAMinimumHoldThatIsLongerThanTheMaximum() throws Exception {
    interlock
        .run("exec", "--min-hold", "5m", uri + "?maxHold=1m", "job", "--", "true")
        .assertFailed(2, "minHold must be at most maxHold");
  }

  @Test
  void refusesAnInvalidTtl() throws Exception {
    interlock.run("exec", "--ttl", "0s", uri, "job", "--", "true").assertFailed(2, "--ttl");
    interlock
        .run("exec", "--ttl", "5", uri, "job", "--", "true")
        .assertFailed(2, "write a whole number and a unit");
  }

  private String[] exec(String script) {
    return execute("sh", "-c", script);
  }

  private String[] execute(String... command) {
    List<String> arguments = new ArrayList<>(List.of("exec", uri, "job", "--"));
    arguments.addAll(List.of(command));
    return arguments.toArray(String[]::new);
  }

  private static int count(String text, String in) {
    return in.split(Pattern.quote(text), -1).length - 1;
  }
}
