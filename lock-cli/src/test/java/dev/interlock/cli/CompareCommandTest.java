package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.interlock.cli.Interlock.Result;
import dev.interlock.cli.extra.TinyProvider;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The command runs the comparison; {@code lab/compare} tests its numbers. */
class CompareCommandTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  @TempDir private Path directory;

  @AutoClose private final Interlock interlock = new Interlock();

  @Test
  void backendsOfOthersAppearBesideOurs() throws Exception {
    Result result =
        interlock.run(
            "compare",
            "--quick",
            "--classpath",
            ExtraJar.in(directory, TinyProvider.class).toString(),
            "--backends",
            "memory,tiny",
            "--scenarios",
            "uncontended",
            "--out",
            directory.resolve("report").toString());
    assertEquals(0, result.exitCode(), result::toString);
    assertTrue(result.out().contains("\n  tiny "), result::out);
    JsonObject json =
        JsonParser.parseString(Files.readString(directory.resolve("report/results.json")))
            .getAsJsonObject();
    assertEquals(2, json.getAsJsonArray("backends").size());
    assertTrue(json.get("interlock").getAsString().startsWith("interlock "));
    assertTrue(Files.exists(directory.resolve("report/index.html")));
    assertTrue(Files.exists(directory.resolve("report/results.md")));
  }

  @Test
  void theReportShowsTheResultsOfTheKit() throws Exception {
    Path kit = directory.resolve("kit");
    interlock.run("tck", "memory:x", "--rules", "EXCL-06", "--report", kit.toString());
    Result result =
        interlock.run(
            "compare",
            "memory:x",
            "--quick",
            "--scenarios",
            "uncontended",
            "--tck",
            kit.toString(),
            "--out",
            directory.toString());
    assertEquals(0, result.exitCode(), result::toString);
    assertTrue(
        Files.readString(directory.resolve("index.html")).contains("Compatibility kit"),
        "no result of the kit on the page");
  }

  @Test
  void controlCEndsTheComparisonWithPartialResults() throws Exception {
    // Four scenarios, so that the comparison does not end before the signal.
    Run run =
        interlock.start(
            "compare",
            "memory:x",
            "--scenarios",
            "uncontended,many-locks,hot-lock,held-leases",
            "--out",
            directory.toString());
    run.err().await("2/4 many-locks");
    run.signal("INT");
    Result result = run.await();
    assertEquals(130, result.exitCode(), result::toString);
    assertTrue(result.out().contains("was stopped early"), result::out);
    JsonObject json =
        JsonParser.parseString(Files.readString(directory.resolve("results.json")))
            .getAsJsonObject();
    assertFalse(json.get("complete").getAsBoolean());
  }

  @Test
  void anUnreachableStoreIsReportedInOneLine() throws Exception {
    int port = Testbed.freePort();
    String uri = "redis://:s3cret@127.0.0.1:" + port;
    runHere("compare", uri).assertFailed(2, "127.0.0.1:" + port);
    Result partial = runHere("compare", "--quick", "--scenarios", "uncontended", uri, "memory:x");
    assertEquals(1, partial.exitCode(), partial::toString);
    assertTrue(partial.out().contains("\n  memory "), partial::out);
    assertFalse((partial.out() + partial.err()).contains("s3cret"), partial::toString);
  }

  @Test
  void theReportIsInTheCurrentDirectoryUnlessTheUserNamesAnother() throws Exception {
    Result result = runHere("compare", "--quick", "--scenarios", "uncontended", "memory:x");
    assertEquals(0, result.exitCode(), result::toString);
    Path index = Path.of("interlock-compare-quick", "index.html");
    assertTrue(result.out().endsWith("The report is in " + index), result::out);
    assertTrue(Files.exists(directory.resolve(index)));
    Files.writeString(directory.resolve("interlock-compare"), "a file of the user's");
    runHere("compare", "memory:x").assertFailed(2, "cannot write to interlock-compare: ");
  }

  private Result runHere(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("sh", "-c", "cd \"$0\" && exec \"$@\""));
    command.add(directory.toString());
    command.addAll(Interlock.commandLine(arguments));
    return interlock.launch(Map.of(), command).await();
  }

  @Test
  void wrongUsageIsReportedInOneLine() throws Exception {
    interlock.run("compare", "nosuch:x").assertFailed(2, "memory");
    interlock.run("compare", "memory:x?tern=1s").assertFailed(2, "tern");
    interlock
        .run("compare", "memory:x", "--scenarios", "speed")
        .assertFailed(2, "the scenarios are uncontended, many-locks");
    interlock.run("compare", "--backends", "nosuch").assertFailed(2, "the backends are memory");
    interlock
        .run("compare", "memory:x", "--tck", directory.toString())
        .assertFailed(2, "report.json");
    Path file = Files.writeString(directory.resolve("file"), "");
    interlock
        .run("compare", "memory:x", "--out", file.resolve("report").toString())
        .assertFailed(2, "cannot write to");
  }
}
