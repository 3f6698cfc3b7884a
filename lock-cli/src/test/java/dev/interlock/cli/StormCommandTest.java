package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.interlock.cli.Interlock.Result;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command runs storms; {@code lab/storm} tests their verdicts. */
class StormCommandTest {
  @TempDir private Path directory;

  @AutoClose private final Interlock interlock = new Interlock();

  @Test
  void aStormOverANamedServerIsReportedAndLeavesTheServerAlone() throws Exception {
    try (RedisServer redis = Testbed.redis().forFaults().start()) {
      String before = redis.info("server", "run_id");
      Result result =
          interlock.run(
              "storm", redis.uri(), "--for", "6s", "--seed", "5", "--report", directory + "");
      assertEquals(0, result.exitCode(), result::toString);
      assertEquals(before, redis.info("server", "run_id"), "the server was restarted");
      assertTrue(result.err().contains("seed 5"), result::err);
      assertTrue(result.out().contains("\n  redis "), result::out);
    }
    JsonObject json = results();
    assertEquals(5, json.get("seed").getAsLong());
    assertTrue(json.get("passed").getAsBoolean());
    JsonObject storm = json.getAsJsonArray("storms").get(0).getAsJsonObject();
    assertTrue(storm.getAsJsonObject("operations").get("grants").getAsLong() > 0, storm::toString);
    assertFalse(storm.getAsJsonArray("faults").isEmpty(), "no fault was injected");
    storm
        .getAsJsonArray("faults")
        .forEach(
            fault ->
                assertTrue(
                    fault.getAsJsonObject().get("target").getAsString().startsWith("client-"),
                    fault::toString));
    String page = Files.readString(directory.resolve("index.html"));
    assertTrue(page.contains("<svg class=\"storm\""), "the page has no picture");
    assertFalse(page.contains("<script"), "the page has a script");
    assertTrue(Files.exists(directory.resolve("results.md")));
  }

  @Test
  void controlCEndsTheStormWithAVerdict() throws Exception {
    Run run = interlock.start("storm", "memory:storm", "--for", "1h", "--report", directory + "");
    run.err().await("the storm begins");
    run.signal("INT");
    Result result = run.await();
    assertEquals(0, result.exitCode(), result::toString);
    assertTrue(result.out().contains("ended early"), result::out);
    assertTrue(results().get("stopped").getAsBoolean());
  }

  @Test
  void anUnreachableStoreIsReportedInOneLine() throws Exception {
    int port = Testbed.freePort();
    String uri = "redis://:s3cret@127.0.0.1:" + port;
    Result result = interlock.run("storm", uri, "--for", "5s");
    assertEquals(2, result.exitCode(), result::toString);
    assertTrue(result.err().contains("127.0.0.1:" + port), result::err);
    assertFalse((result.out() + result.err()).contains("s3cret"), result::toString);
  }

  @Test
  void wrongUsageIsReportedInOneLine() throws Exception {
    interlock.run("storm", "nosuch:x").assertFailed(2, "memory");
    interlock.run("storm", "memory:x?tern=1s", "--for", "5s").assertFailed(2, "tern");
    interlock.run("storm", "--backends", "nosuch").assertFailed(2, "the backends are memory");
    interlock.run("storm", "memory:x", "--backends", "redis").assertFailed(2, "either URIs");
    interlock.run("storm", "memory:x", "--clusters").assertFailed(2, "leave --clusters out");
    interlock.run("storm", "memory:x", "--for", "1s").assertFailed(2, "lasts from 5s");
    interlock.run("storm", "memory:x", "--for", "soon").assertFailed(2, "soon");
    interlock.run("storm", "memory:x", "--seed", "x").assertFailed(2, "--seed");
    interlock.run("storm", "memory:x", "--at-once", "0").assertFailed(2, "must be from 1 to 64");
    Path file = Files.writeString(directory.resolve("file"), "");
    interlock
        .run("storm", "memory:x", "--report", file.resolve("below").toString())
        .assertFailed(2, "cannot write to");
  }

  private JsonObject results() throws Exception {
    return JsonParser.parseString(Files.readString(directory.resolve("results.json")))
        .getAsJsonObject();
  }
}
