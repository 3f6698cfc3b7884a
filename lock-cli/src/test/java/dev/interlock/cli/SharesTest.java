package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.interlock.cli.Interlock.Result;
import dev.interlock.tck.sample.SomeTests;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Several commands that share a name: {@code exec} as reader, writer and with permits. */
class SharesTest extends CommandsOnRedis {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  @Test
  void readersRunTogetherWhileTheWriterWaits() throws Exception {
    Run first = hold("--shared");
    long firstToken = token(first);
    Run second = hold("--shared");
    long secondToken = token(second);
    assertTrue(secondToken > firstToken, firstToken + " and then " + secondToken);
    interlock
        .run(exec("true", "--exclusive", "--wait", "0s"))
        .assertFailed(75, "could not acquire lock \"" + name + "\": held by ");

    Run writer = interlock.start(exec(HOLD, "--exclusive", "--verbose"));
    writer.err().await("waiting");
    first.type("go");
    assertEquals(0, first.await().exitCode());
    assertTrue(writer.out().soFar().isEmpty());
    second.type("go");
    assertEquals(0, second.await().exitCode());
    assertTrue(token(writer) > secondToken);
    interlock
        .run(exec("true", "--shared", "--wait", "0s"))
        .assertFailed(75, "could not acquire shared lock \"" + name + "\": held by ");
    writer.type("go");
    assertEquals(0, writer.await().exitCode());
  }

  @Test
  void whenAReaderIsKilledTheWriterRunsAfterItsTtl() throws Exception {
    Run reader = interlock.launch(exec(HOLD, "--shared", "--ttl", "4s"));
    token(reader);
    Run writer = interlock.start(exec(HOLD, "--exclusive", "--verbose"));
    writer.err().await("waiting");
    reader.signal("KILL");
    token(writer);
    writer.type("go");
    assertEquals(0, writer.await().exitCode());
  }

  @Test
  void onlyTwoOfThreeShellsHaveAPermit() throws Exception {
    Run first = hold("--permits", "1/2");
    Run second = hold("--permits", "1/2");
    assertTrue(token(first) != token(second));
    Run third = interlock.start(exec(HOLD, "--permits", "1/2", "--verbose"));
    third.err().await("waiting");
    interlock
        .run(exec("true", "--permits", "1/2", "--wait", "0s"))
        .assertFailed(75, "could not acquire 1 of 2 permits of \"" + name + "\": held by ");
    assertTrue(third.out().soFar().isEmpty());
    second.type("go");
    token(third);
    first.type("go");
    third.type("go");
    for (Run run : List.of(first, second, third)) {
      assertEquals(0, run.await().exitCode());
    }
  }

  @Test
  void severalPermitsAreAcquiredAllOrNone() throws Exception {
    Run two = hold("--permits", "2/3");
    token(two);
    interlock
        .run(exec("true", "--permits", "2/3", "--wait", "0s"))
        .assertFailed(75, "2 of 3 permits");
    interlock.run(exec("true", "--permits", "1/3", "--wait", "0s")).assertDone();
    two.signal("TERM");
    assertEquals(143, two.await().exitCode());
    interlock.run(exec("true", "--permits", "3/3", "--wait", "0s")).assertDone();
  }

  @Test
  void aPermitIsKeptForTheMinimumHold() throws Exception {
    Run run = interlock.start(exec("exit 3", "--permits", "1/2", "--min-hold", "10m"));
    assertEquals(3, run.await().exitCode());
    interlock.run(exec("true", "--permits", "2/2", "--wait", "0s")).assertFailed(75, "held by");
    interlock.run(exec("true", "--permits", "1/2", "--wait", "0s")).assertDone();
  }

  @Test
  void aSignalEndsTheWaitOfAWriterAndReadersGoOn() throws Exception {
    Run reader = hold("--shared");
    token(reader);
    Run writer = interlock.start(exec(HOLD, "--exclusive", "--verbose"));
    writer.err().await("waiting");
    writer.signal("INT");
    assertEquals(130, writer.await().exitCode());
    interlock.run(exec("true", "--shared")).assertDone();
  }

  @Test
  void aNameIsOneKindOfLock() throws Exception {
    token(hold("--shared"));
    interlock
        .run(exec("true"))
        .assertFailed(2, "in use as a read-write lock and cannot be acquired as an exclusive lock");
    interlock
        .run(exec("true", "--permits", "1/2", "--wait", "0s"))
        .assertFailed(2, "in use as a read-write lock and cannot be acquired as a semaphore of 2");
  }

  @Test
  void aSemaphoreHasOneNumberOfPermits() throws Exception {
    token(hold("--permits", "1/2"));
    interlock
        .run(exec("true", "--permits", "1/3"))
        .assertFailed(2, "in use as a semaphore of 2 permits");
    interlock.run(exec("true")).assertFailed(2, "in use as a semaphore of 2 permits");
  }

  @Test
  void aForcedReleaseEndsEveryReader() throws Exception {
    Run first = hold("--shared", "--ttl", "6s");
    Run second = hold("--shared", "--ttl", "6s");
    token(first);
    token(second);
    Result forced = interlock.run("release", "--force", uri, name).assertDone();
    String label = "\\S+/" + first.pid() + "/\\S+";
    assertTrue(
        forced.out().matches(".* is free; 2 holders \\(" + label + ", " + label + "\\) may .*"),
        forced::out);
    for (Run run : List.of(first, second)) {
      Result result = run.await();
      assertEquals(76, result.exitCode());
      assertTrue(result.err().contains("lease of \"" + name + "\" lost"), result::err);
    }
  }

  @Test
  void inspectShowsEveryReader() throws Exception {
    Run first = hold("--shared");
    long firstToken = token(first);
    Run second = hold("--shared");
    long secondToken = token(second);

    String text = interlock.run("inspect", uri, name).assertDone().out();
    assertTrue(text.contains("used as    read-write lock, 2 readers"), text);
    assertTrue(text.matches(row("reader", firstToken, first)), text);
    assertTrue(text.matches(row("reader", secondToken, second)), text);

    JsonObject json = json("inspect", "--json", uri, name);
    assertEquals("READ_WRITE", json.get("kind").getAsString());
    assertTrue(json.get("limit").isJsonNull(), json::toString);
    assertEquals(firstToken, json.get("token").getAsLong());
    JsonArray holders = json.getAsJsonArray("holders");
    assertEquals(2, holders.size());
    JsonObject holder = holders.get(1).getAsJsonObject();
    assertEquals("READ", holder.get("mode").getAsString());
    assertTrue(holder.get("permits").isJsonNull(), json::toString);
    assertEquals(secondToken, holder.get("token").getAsLong());
    assertTrue(holder.get("holder").getAsString().contains("/" + second.pid() + "/"));
    assertTrue(holder.get("remainingMillis").getAsLong() > 0, json::toString);
    assertTrue(holder.get("heldSince").getAsString().startsWith("20"), json::toString);
  }

  @Test
  void inspectShowsTheWriter() throws Exception {
    Run writer = hold("--exclusive");
    long token = token(writer);
    String text = interlock.run("inspect", uri, name).assertDone().out();
    assertTrue(text.contains("used as    read-write lock, 1 writer"), text);
    assertTrue(text.matches(row("writer", token, writer)), text);
    JsonObject json = json("inspect", "--json", uri, name);
    JsonObject holder = json.getAsJsonArray("holders").get(0).getAsJsonObject();
    assertEquals("WRITE", holder.get("mode").getAsString());
  }

  @Test
  void inspectAndListShowEveryPermit() throws Exception {
    Run one = hold("--permits", "1/5");
    long oneToken = token(one);
    Run two = hold("--permits", "2/5");
    long twoToken = token(two);

    String text = interlock.run("inspect", uri, name).assertDone().out();
    assertTrue(text.contains("used as    semaphore, 3 of 5 permits taken"), text);
    assertTrue(text.matches(row("1/5 permits", oneToken, one)), text);
    assertTrue(text.matches(row("2/5 permits", twoToken, two)), text);

    String list = interlock.run("list", uri, name).assertDone().out();
    assertTrue(list.matches(row(name + " +1/5 permits", oneToken, one)), list);
    assertTrue(list.matches(row(name + " +2/5 permits", twoToken, two)), list);

    JsonArray locks = json("list", "--json", uri, name).getAsJsonArray("locks");
    assertEquals(1, locks.size());
    JsonObject lock = locks.get(0).getAsJsonObject();
    assertEquals("SEMAPHORE", lock.get("kind").getAsString());
    assertEquals(5, lock.get("limit").getAsInt());
    List<Integer> permits = new ArrayList<>();
    lock.getAsJsonArray("holders")
        .forEach(holder -> permits.add(holder.getAsJsonObject().get("permits").getAsInt()));
    assertEquals(List.of(1, 2), permits);
  }

  private static String row(String heldAs, long token, Run run) {
    return "(?s).*\n" + heldAs + " +" + token + " +\\S+ s +20\\S+Z +\\S+/" + run.pid() + "/.*";
  }

  private JsonObject json(String... arguments) throws Exception {
    return JsonParser.parseString(interlock.run(arguments).assertDone().out()).getAsJsonObject();
  }

  private Run hold(String... options) {
    return interlock.start(exec(HOLD, options));
  }
}
