package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonParser;
import dev.interlock.cli.Interlock.Result;
import dev.interlock.cli.extra.FailingProvider;
import dev.interlock.cli.extra.TinyProvider;
import dev.interlock.testbed.Testbed;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command runs the kit; {@code lock-tck} tests its verdicts. */
class TckCommandTest {
  @TempDir private Path directory;

  @AutoClose private final Interlock interlock = new Interlock();

  @Test
  void aBackendThatKeepsTheRulesPasses() throws Exception {
    Path reports = directory.resolve("reports");
    Result result =
        interlock.run(
            "tck", "memory:x", "--rules", "EXCL-06,API-0*", "--report", reports.toString());
    assertEquals(0, result.exitCode(), result::toString);
    assertEquals("", result.err());
    for (String rule : new String[] {"EXCL-06", "API-01", "API-05"}) {
      assertTrue(result.out().contains(rule), result::out);
    }
    assertTrue(
        JsonParser.parseString(Files.readString(reports.resolve("report.json"))).isJsonObject());
    assertTrue(Files.readString(reports.resolve("report.md")).contains("EXCL-06"));
    try (Stream<Path> files = Files.list(reports)) {
      assertEquals(
          1, files.filter(file -> file.getFileName().toString().matches("TEST-.*xml")).count());
    }
  }

  @Test
  void aBackendThatBreaksARuleFails() throws Exception {
    Path jar = ExtraJar.in(directory, TinyProvider.class);
    Result result =
        interlock.run("tck", "--classpath", jar.toString(), "tiny:x", "--rules", "EXCL-03");
    assertEquals(1, result.exitCode(), result::toString);
  }

  @Test
  void whatCannotRunIsReportedInOneLine() throws Exception {
    interlock.run("tck").assertFailed(2, "URI");
    interlock.run("tck", "nosuch:x").assertFailed(2, "memory:demo");
    interlock.run("tck", "memory:x", "--rules", "EXCL-99").assertFailed(2, "EXCL-99");
    int port = Testbed.freePort();
    interlock.run("tck", "redis://127.0.0.1:" + port).assertFailed(2, "127.0.0.1:" + port);
  }

  @Test
  void anUnusableJarIsReportedInOneLine() throws Exception {
    interlock
        .run("tck", "--classpath", ExtraJar.in(directory, null).toString(), "tiny:x")
        .assertFailed(2, "META-INF/services");
    interlock
        .run(
            "tck",
            "--classpath",
            ExtraJar.in(directory, FailingProvider.class).toString(),
            "tiny:x")
        .assertFailed(2, FailingProvider.class.getName());
  }

  @Test
  void theHelpListsTheExitCodes() throws Exception {
    String help = interlock.run("tck", "--help").assertDone().out();
    for (String expected : List.of("at least one rule failed", "could not run")) {
      assertTrue(help.contains(expected), help);
    }
  }
}
