package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.cli.Interlock.Result;
import dev.interlock.cli.Interlock.Run;
import dev.interlock.testbed.Testbed;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How {@code exec} treats its child; for all of this one process is enough, and no server. */
class ExecTest {
  private static final String URI = "memory:exec";

  /** What is wrong with a command line is said before any server is asked. */
  private static final String UNREACHABLE = "redis://127.0.0.1:1";

  private static final String SHOW_TOKEN = "echo $INTERLOCK_TOKEN; exit 5";

  @AutoClose private final Interlock interlock = new Interlock();

  @Test
  void runsACommandWithNoServerAtAll() throws Exception {
    assertEquals(new Result(0, "", ""), interlock.run("exec", "memory:x", "demo", "--", "true"));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 75, 255})
  void exitsAsTheChildDoes(int exitCode) throws Exception {
    assertEquals(exitCode, interlock.run(exec("exit " + exitCode)).exitCode());
  }

  @Test
  void exitsWith128PlusTheSignalThatEndedTheChild() throws Exception {
    assertEquals(137, interlock.run(exec("kill -KILL $$")).exitCode());
    assertEquals(134, interlock.run(exec("kill -ABRT $$")).exitCode());
  }

  @Test
  void tellsTheChildNameAndToken() throws Exception {
    Result result =
        interlock.run(
            Map.of("INTERLOCK_TOKEN", "outer", "INTERLOCK_NAME", "outer"),
            exec("echo \"$INTERLOCK_NAME\"; echo \"$INTERLOCK_TOKEN\""));
    String[] lines = result.out().split("\n");
    assertEquals("job", lines[0]);
    assertTrue(Long.parseLong(lines[1]) > 0, result::toString);
  }

  @Test
  void leavesInputOutputAndErrorToTheChild() throws Exception {
    Run run = interlock.start(exec("read line; echo \"out $line\"; echo \"err $line\" >&2; cat"));
    run.type("first");
    run.out().await("out first");
    run.err().await("err first");
    run.type("second");
    run.out().await("second");
    run.signal("TERM");
    assertEquals(143, run.await().exitCode());
  }

  @Test
  void passesArgumentsOnAsTheyAre() throws Exception {
    List<String> arguments =
        List.of("@file", "'quoted'", "two words", "", "--", "-v", "--help", "ü€😀", "${user.home}");
    String[] command = {
      "exec", URI, "job", "--", "sh", "-c", "for a in \"$@\"; do echo \"<$a>\"; done", "sh"
    };
    String[] all = new String[command.length + arguments.size()];
    System.arraycopy(command, 0, all, 0, command.length);
    for (int i = 0; i < arguments.size(); i++) {
      all[command.length + i] = arguments.get(i);
    }
    Result result = interlock.run(Map.of("LC_ALL", "C.UTF-8"), all);
    assertEquals("<" + String.join(">\n<", arguments) + ">", result.out(), result::err);
  }

  @Test
  void refusesArgumentsThatTheLocaleMutilates() throws Exception {
    Result result = interlock.run(Map.of("LC_ALL", "C"), "exec", URI, "ü", "--", "true");
    result.assertFailed(2, "set LC_ALL=C.UTF-8");
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

  @ParameterizedTest
  @ValueSource(strings = {"INT", "TERM", "HUP"})
  void passesSignalsOnAndWaitsForTheChild(String signal) throws Exception {
    Run run =
        interlock.start(
            exec(
                "trap 'echo got; read go; exit 5' "
                    + signal
                    + "; echo ready; while :; do sleep 0.1; done"));
    run.out().await("ready");
    run.signal(signal);
    run.out().await("got");
    assertTrue(run.isAlive());
    run.type("go");
    assertEquals(5, run.await().exitCode());
  }

  @Test
  void exitsAsTheChildDoesThatASignalEnded() throws Exception {
    Run run = interlock.start(exec("echo ready; exec sleep 600"));
    run.out().await("ready");
    run.signal("TERM");
    assertEquals(143, run.await().exitCode());
  }

  @Test
  void leavesWhatIsTypedAtTheTerminalToTheTerminal(@TempDir Path directory) throws Exception {
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
    List<String> inner = Interlock.commandLine("exec", URI, "job", "--", "bash", script.toString());
    StringBuilder quoted = new StringBuilder("exec");
    inner.forEach(word -> quoted.append(" '").append(word).append("'"));
    Run run =
        interlock.launch(
            Map.of("SHELL", "/bin/sh"),
            List.of("script", "--quiet", "--return", "--command", quoted.toString(), "/dev/null"));
    run.out().await("terminal");
    run.type("\3"); // Control-C, and a line end for the first read
    run.out().await("interrupted");
    run.type("on");
    run.out().await("read on");
    Result result = run.await();
    assertEquals(0, result.exitCode(), result::toString);
    assertEquals(1, count("interrupted", result.out()), result::out);
  }

  /** A chroot without /dev/pts has none to give. */
  private void requireTerminal() throws Exception {
    List<String> command =
        List.of("script", "--quiet", "--return", "--command", "true", "/dev/null");
    Result result = interlock.launch(Map.of("SHELL", "/bin/sh"), command).await();
    assumeTrue(result.exitCode() == 0 || Testbed.requiresAll(), () -> "no terminal: " + result);
  }

  @Test
  void keepsTheLockUntilWhatTheChildLeftBehindHasEnded() throws Exception {
    Run run =
        interlock.start(exec("exec 3<&0; (setsid sh -c 'read go <&3; echo over' &); echo left"));
    String line = run.err().await("left processes");
    assertTrue(run.isAlive(), line);
    run.type("go");
    run.out().await("over");
    assertEquals(0, run.await().exitCode());
  }

  @Test
  void doesNotKeepTheLockForADaemonThatDropsTheMark() throws Exception {
    Run run =
        interlock.start(
            exec(
                "(unset INTERLOCK_EXEC; exec setsid sleep 600 >/dev/null 2>&1 </dev/null) & p=$!;"
                    // Until then it has what its parent has.
                    + " until grep -q sleep /proc/$p/comm; do sleep 0.05; done; echo $p"));
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
    Result result =
        interlock.run(
            "exec", URI + "?maxHold=8s", "job", "--", "sh", "-c", "sleep 600 & sleep 601; wait");
    assertEquals(76, result.exitCode());
    assertTrue(result.err().contains("lease of \"job\" lost (MAX_HOLD)"), result::err);
    assertTrue(result.err().contains("SIGTERM now, SIGKILL in 10.0 s"), result::err);
    assertFalse(result.err().contains("killed"), result::err);
  }

  @Test
  void endsTheChildAlsoIfTheMessagesAreNotRead(@TempDir Path directory) throws Exception {
    String unread = directory.resolve("unread").toString();
    List<String> command =
        new ArrayList<>(
            List.of(
                "sh",
                "-c",
                // Open for reading too, so that it can be filled to the brim.
                "mkfifo '"
                    + unread
                    + "' && exec 3<>'"
                    + unread
                    + "'; dd if=/dev/zero of='"
                    + unread
                    + "' oflag=nonblock 2>/dev/null; exec \"$@\" 2>&3",
                "sh"));
    command.addAll(Interlock.commandLine("exec", URI + "?maxHold=8s", "job", "--", "sleep", "600"));
    assertEquals(76, interlock.launch(Map.of(), command).await().exitCode());
  }

  @Test
  void losesTheLeaseOfAUriThatForbidsRenewalAtItsTtl() throws Exception {
    Result result =
        interlock.run("exec", "--ttl", "1s", URI + "?autoRenew=false", "job", "--", "sleep", "600");
    assertEquals(76, result.exitCode());
    assertTrue(result.err().contains("(EXPIRED)"), result::err);
  }

  @Test
  void saysWhatItDoesIfAsked() throws Exception {
    Result result = interlock.run("exec", "--verbose", URI, "job", "--", "true");
    assertEquals(
        """
        interlock: waiting for "job" at exec
        interlock: acquired "job"
        interlock: released "job\"\
        """,
        result.err());
  }

  @ParameterizedTest
  @ValueSource(strings = {"--shared", "--exclusive", "--permits=1/1", "--permits=2/3"})
  void runsTheChildWithEveryShareOfTheName(String share) throws Exception {
    Result result =
        interlock.run(
            "exec", share, "--wait=0s", "--ttl=9s", URI, "job", "--", "sh", "-c", SHOW_TOKEN);
    assertEquals(new Result(5, result.out(), ""), result);
    assertTrue(Long.parseLong(result.out()) > 0, result::toString);
  }

  @ParameterizedTest
  @ValueSource(strings = {"--shared", "--exclusive", "--permits=2/3"})
  void endsTheChildWhenAShareIsLost(String share) throws Exception {
    Result result =
        interlock.run("exec", share, URI + "?maxHold=2s", "job", "--", "sh", "-c", "sleep 600");
    assertEquals(76, result.exitCode());
    assertTrue(result.err().contains("lease of \"job\" lost (MAX_HOLD)"), result::err);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"0/3", "4/3", "3", "a/b", "-1/3", "1/-3", "1/0", "1/2/3", "1 /3", "/", ""})
  void refusesPermitsThatCannotBe(String permits) throws Exception {
    interlock
        .run("exec", "--permits", permits, UNREACHABLE, "job", "--", "true")
        .assertFailed(2, "'--permits': \"" + permits + "\"");
  }

  @Test
  void refusesMorePermitsThanCanBe() throws Exception {
    for (String permits : List.of("1/2147483648", "2147483648/3", "1/99999999999999999999")) {
      interlock
          .run("exec", "--permits", permits, UNREACHABLE, "job", "--", "true")
          .assertFailed(2, "at most 2147483647");
    }
    interlock.run("exec", "--permits=1/2147483647", URI, "job", "--", "true").assertDone();
  }

  @Test
  void refusesTwoSharesAtOnce() throws Exception {
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
  void refusesWhatTheBackendCannotDo() throws Exception {
    String redlock = "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3";
    interlock
        .run("exec", "--permits=1/2", redlock, "job", "--", "true")
        .assertFailed(2, "redlock has no semaphores");
  }

  @Test
  void refusesATtlThatIsGivenTwice() throws Exception {
    interlock
        .run("exec", "--ttl", "5s", URI + "?ttl=9s", "job", "--", "true")
        .assertFailed(2, "give it once");
  }

  @Test
  void refusesAMinimumHoldThatIsLongerThanTheMaximum() throws Exception {
    interlock
        .run("exec", "--min-hold", "5m", URI + "?maxHold=1m", "job", "--", "true")
        .assertFailed(2, "minHold must be at most maxHold");
  }

  @Test
  void refusesATtlThatCannotBe() throws Exception {
    interlock.run("exec", "--ttl", "0s", URI, "job", "--", "true").assertFailed(2, "--ttl");
    interlock
        .run("exec", "--ttl", "5", URI, "job", "--", "true")
        .assertFailed(2, "write a whole number and a unit");
  }

  private static String[] exec(String script) {
    return execute("sh", "-c", script);
  }

  private static String[] execute(String... command) {
    String[] arguments = new String[command.length + 4];
    arguments[0] = "exec";
    arguments[1] = URI;
    arguments[2] = "job";
    arguments[3] = "--";
    System.arraycopy(command, 0, arguments, 4, command.length);
    return arguments;
  }

  private static int count(String text, String in) {
    return in.split(Pattern.quote(text), -1).length - 1;
  }
}
