package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.interlock.cli.Interlock.Result;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code inspect}, {@code list} and {@code release}. */
class OperatorTest {
  @AutoClose private static RedisServer redis;
  private static String uri;

  @AutoClose private final Interlock interlock = new Interlock();
  private final String name = "job " + UUID.randomUUID();

  @BeforeAll
  static void startServer() {
    redis = Testbed.redis().start();
    uri = Interlock.withLongTimeout(redis.uri());
  }

  @Test
  void inspectShowsHolderTokenAndRemainingTime() throws Exception {
    Run holder = hold("&ttl=60s");
    long token = Long.parseLong(holder.out().await("in ").substring(3));
    String text = interlock.run("inspect", uri, name).assertDone().out();
    assertTrue(
        text.matches("lock +" + name + "\nheld by +\\S+/" + holder.pid() + "/.*\n(.*\n?)*"), text);
    assertTrue(text.matches("(.*\n)*token +" + token + "\n(.*\n?)*"), text);
    assertTrue(text.matches("(.*\n)*remaining +\\d+\\.\\d s"), text);

    JsonObject json = json(interlock.run("inspect", "--json", uri, name));
    assertEquals(name, json.get("name").getAsString());
    assertTrue(json.get("held").getAsBoolean());
    assertTrue(json.get("holder").getAsString().contains("/" + holder.pid() + "/"), json::toString);
    assertEquals(token, json.get("token").getAsLong());
    long remaining = json.get("remainingMillis").getAsLong();
    assertTrue(remaining > 0 && remaining <= 60_000, json::toString);
    assertTrue(json.get("waiters").getAsJsonArray().isEmpty(), json::toString);
  }

  @Test
  void inspectShowsTheLabelThatTheUriGives() throws Exception {
    hold("&label=night%20batch").out().await("in");
    String text = interlock.run("inspect", uri, name).assertDone().out();
    assertTrue(text.contains("night batch"), text);
  }

  @Test
  void controlCharactersAreNotPrinted() throws Exception {
    String text = interlock.run("inspect", uri, "\u001b[2Jjob").assertDone().out();
    assertTrue(text.startsWith("lock       ?[2Jjob"), text);
  }

  @Test
  void inspectShowsAFreeLock() throws Exception {
    String text = interlock.run("inspect", uri, name).assertDone().out();
    assertTrue(text.matches("lock +" + name + "\nheld by +nobody"), text);
    JsonObject json = json(interlock.run("inspect", uri, name, "--json"));
    assertFalse(json.get("held").getAsBoolean());
    for (String absent : new String[] {"holder", "token", "remainingMillis"}) {
      assertTrue(json.get(absent).isJsonNull(), absent);
    }
  }

  @Test
  void inspectTakesAndShowsAnyName(@TempDir Path directory) throws Exception {
    String odd = "ü/{a}: \"€\" 😀 " + UUID.randomUUID();
    interlock.start("exec", uri, odd, "--", "sh", "-c", "echo in; read go").out().await("in");
    JsonObject json = json(interlock.run("inspect", uri, odd, "--json"));
    assertEquals(odd, json.get("name").getAsString());
    Result text = interlock.runIn("C.UTF-8", Interlock.commandLine("inspect", uri, odd), directory);
    assertTrue(text.assertDone().out().startsWith("lock       " + odd + "\nheld by"), text::out);
    assertTrue(json.get("held").getAsBoolean());
  }

  @Test
  void anIncompleteListingShowsTheReadableLocksAndFails() throws Exception {
    try (ZooKeeperEnsemble zookeeper = Testbed.zookeeper().start()) {
      for (String user : List.of("one", "another")) {
        String own =
            Interlock.withLongTimeout(zookeeper.uri().replace("//", "//" + user + ":password@"));
        interlock.start("exec", own, user, "--", "sh", "-c", "echo in; read go").out().await("in");
      }
      String one = Interlock.withLongTimeout(zookeeper.uri().replace("//", "//one:password@"));
      Result result = interlock.run("list", "--json", one);
      assertEquals(2, result.exitCode());
      assertTrue(result.err().contains("lock \"another\""), result::err);
      JsonArray locks =
          JsonParser.parseString(result.out()).getAsJsonObject().getAsJsonArray("locks");
      assertEquals(1, locks.size());
      assertEquals("one", locks.get(0).getAsJsonObject().get("name").getAsString());
    }
  }

  @Test
  void forcedReleaseNamesTheFormerHolder() throws Exception {
    Run holder = hold("");
    holder.out().await("in");
    Result result = interlock.run("release", "--force", uri, name).assertDone();
    assertTrue(
        result
            .out()
            .matches(
                "lock \""
                    + name
                    + "\" is free; \\S+/"
                    + holder.pid()
                    + "/.* \\(token \\d+\\) may still be at work"),
        result::out);
    interlock.run("exec", "--wait", "0s", uri, name, "--", "true").assertDone();
  }

  @Test
  void revocationKeepsEverybodyOutUntilTheLeaseHasEnded() throws Exception {
    Run holder = hold("&ttl=6s");
    holder.out().await("in");
    Result result = interlock.run("release", uri, name).assertDone();
    assertTrue(result.out().contains("is revoked"), result::out);
    assertTrue(result.out().contains("it becomes free in "), result::out);
    assertEquals(76, holder.await().exitCode());
    interlock.run("exec", uri, name, "--", "true").assertDone();
  }

  @Test
  void releasingALockThatIsNotHeldFails() throws Exception {
    for (String[] command :
        new String[][] {{"release", "--force", uri, name}, {"release", uri, name}}) {
      interlock.run(command).assertFailed(1, "lock \"" + name + "\" is not held at 127.0.0.1:");
    }
  }

  private Run hold(String parameters) {
    return interlock.start(
        "exec", uri + parameters, name, "--", "sh", "-c", "echo in $INTERLOCK_TOKEN; read go");
  }

  private static JsonObject json(Result result) {
    return JsonParser.parseString(result.assertDone().out()).getAsJsonObject();
  }
}
