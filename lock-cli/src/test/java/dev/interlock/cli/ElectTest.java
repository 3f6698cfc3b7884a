package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.interlock.cli.Interlock.Result;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** {@code elect} and {@code leader}: several candidates, one leader. */
class ElectTest extends CommandsOnRedis {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  /** A script that prints its token and leads until a line is typed. */
  private static final String LEAD = "echo in $INTERLOCK_TOKEN; read go; exit 5";

  /** A TTL that outlasts the test, so another candidate leads only if the leader resigns. */
  private static final String LONG_TTL = "10m";

  @Test
  void whenTheLeadersCommandEndsTheNextLeadsAtOnce() throws Exception {
    Run first = interlock.start(elect(LEAD, "--ttl", LONG_TTL));
    long firstToken = token(first);
    Run second = interlock.start(elect(LEAD, "--verbose"));
    second.err().await("campaigning");
    assertTrue(second.out().soFar().isEmpty());
    first.type("go");
    assertEquals(new Result(5, "in " + firstToken, ""), first.await());
    assertTrue(token(second) > firstToken);
    second.type("go");
    assertEquals(5, second.await().exitCode());
    assertNobodyLeads();
  }

  @Test
  void sigtermEndsTheCommandAndTheNextLeadsAtOnce() throws Exception {
    Run leader =
        interlock.start(
            elect(
                "trap 'echo ending; read go; exit 0' TERM; echo in $INTERLOCK_TOKEN;"
                    + " while :; do sleep 0.1; done",
                "--ttl",
                LONG_TTL));
    long token = token(leader);
    Run next = interlock.start(elect(LEAD, "--verbose"));
    next.err().await("campaigning");
    leader.signal("TERM");
    leader.out().await("ending");
    assertTrue(next.out().soFar().isEmpty());
    leader.type("go");
    assertEquals(0, leader.await().exitCode());
    assertTrue(token(next) > token);
    next.signal("TERM");
    assertEquals(143, next.await().exitCode());
    assertNobodyLeads();
  }

  @Test
  void whenTheLeaderIsKilledAnotherTakesOver() throws Exception {
    Run leader = interlock.launch(elect(LEAD, "--ttl", "4s"));
    long token = token(leader);
    Run next = interlock.start(elect(LEAD, "--verbose"));
    next.err().await("campaigning");
    leader.signal("KILL");
    assertTrue(token(next) > token);
    next.type("go");
    assertEquals(5, next.await().exitCode());
  }

  @Test
  void aLeaderThatLosesTheLeadershipStopsItsCommandAndCampaignsAgain() throws Exception {
    Run leader =
        interlock.start(
            elect(
                "trap 'echo ending; exit 0' TERM; echo in $INTERLOCK_TOKEN;"
                    + " while :; do sleep 0.1; done",
                "--ttl",
                "6s"));
    long first = token(leader);
    interlock.run("release", "--force", uri, name).assertDone();
    leader.err().await("campaigning for \"" + name + "\" again");
    Eventually.holds("elected again", () -> leader.out().soFar().size() == 3);
    List<String> lines = leader.out().soFar();
    assertEquals("ending", lines.get(1));
    assertTrue(Long.parseLong(lines.get(2).substring("in ".length())) > first, lines::toString);
    leader.signal("TERM");
    Result result = leader.await();
    assertEquals(0, result.exitCode());
    assertTrue(result.err().contains("lease of \"" + name + "\" lost"), result::err);
    assertNobodyLeads();
  }

  @Test
  void aLeaderThatGetsSigtermAfterALossDoesNotCampaignAgain() throws Exception {
    Run leader =
        interlock.start(
            elect(
                // The script ends at the second SIGTERM; the loss sends the first.
                "n=0; trap 'n=$((n+1)); echo ending; test $n -eq 2 && exit 0' TERM; echo in;"
                    + " while :; do sleep 0.1; done",
                "--ttl",
                "6s",
                "--grace",
                LONG_TTL));
    leader.out().await("in");
    interlock.run("release", "--force", uri, name).assertDone();
    leader.out().await("ending");
    leader.signal("TERM");
    Result result = leader.await();
    assertEquals(143, result.exitCode());
    assertFalse(result.err().contains("again"), result::err);
    assertNobodyLeads();
  }

  @Test
  void sighupGoesToTheCommandAndDoesNotEndTheCandidacy() throws Exception {
    Run leader =
        interlock.start(
            elect("trap 'echo reloaded' HUP; echo in; while :; do sleep 0.1; done", "--ttl", "6s"));
    leader.out().await("in");
    leader.signal("HUP");
    leader.out().await("reloaded");
    interlock.run("release", "--force", uri, name).assertDone();
    leader.err().await("campaigning for \"" + name + "\" again");
    Eventually.holds("elected again", () -> leader.out().soFar().size() == 3);
  }

  @Test
  void aSignalEndsTheCampaignWithoutResidue() throws Exception {
    Run leader = interlock.start(elect(LEAD));
    token(leader);
    Run candidate = interlock.start(elect("echo in", "--verbose"));
    candidate.err().await("campaigning");
    candidate.signal("TERM");
    Result result = candidate.await();
    assertEquals(new Result(143, "", result.err()), result);
    leader.type("go");
    assertEquals(5, leader.await().exitCode());
    assertNobodyLeads();
  }

  @Test
  void resignsWhenTheCommandCannotBeStarted() throws Exception {
    interlock.run("elect", uri, name, "--", "no-such-program").assertFailed(127, "was not found");
    assertNobodyLeads();
  }

  @Test
  void aNameInUseAsAnotherKindIsRefused() throws Exception {
    Run reader =
        interlock.start("exec", "--shared", uri, name, "--", "sh", "-c", "echo in; read go");
    reader.out().await("in");
    interlock.run(elect("true")).assertFailed(2, "in use as a read-write lock");
    interlock.run("leader", uri, name).assertFailed(2, "in use as a read-write lock");
    interlock.run("leader", "--follow", uri, name).assertFailed(2, "in use as a read-write lock");
  }

  @Test
  void leaderShowsWhoLeads() throws Exception {
    assertNobodyLeads();
    Run leader = interlock.start(elect(LEAD));
    long token = token(leader);
    String text = interlock.run("leader", uri, name).assertDone().out();
    assertTrue(text.matches("20\\S+Z  \\S+/" + leader.pid() + "/\\S+  token " + token), text);
    JsonObject json = json(interlock.run("leader", "--json", uri, name).assertDone().out());
    assertEquals(name, json.get("name").getAsString());
    assertTrue(json.get("hasLeader").getAsBoolean());
    assertTrue(json.get("leader").getAsString().contains("/" + leader.pid() + "/"));
    assertEquals(token, json.get("token").getAsLong());
  }

  @Test
  void leaderFollowsEveryChange() throws Exception {
    Run follower = interlock.start("leader", "--follow", uri, name);
    follower.out().await("nobody leads");
    Run json = interlock.start("leader", "-f", "--json", uri, name);
    json.out().await("\"hasLeader\":false");
    for (int i = 0; i < 2; i++) {
      Run leader = interlock.start(elect(LEAD));
      long token = token(leader);
      String line = follower.out().await("token " + token);
      assertTrue(line.contains("/" + leader.pid() + "/"), line);
      JsonObject object = json(json.out().await("\"token\":" + token));
      assertTrue(object.get("leader").getAsString().contains("/" + leader.pid() + "/"));
      leader.type("go");
      assertEquals(5, leader.await().exitCode());
      int before = 2 * (i + 1);
      Eventually.holds("none again", () -> follower.out().soFar().size() == before + 1);
    }
    follower.signal("TERM");
    json.signal("INT");
    assertEquals(143, follower.await().exitCode());
    assertEquals(130, json.await().exitCode());
    assertTrue(follower.out().soFar().get(4).endsWith("nobody leads"), follower.out()::toString);
  }

  @Test
  void leaderEndsWhenItsOutputIsClosed() throws Exception {
    List<String> pipe = new ArrayList<>(List.of("sh", "-c", "\"$@\" | head -n 1", "sh"));
    pipe.addAll(Interlock.commandLine("leader", "--follow", uri, name));
    Run follower = interlock.launch(Map.of(), pipe);
    follower.out().await("nobody leads");
    Run leader = interlock.start(elect(LEAD));
    token(leader);
    assertEquals(0, follower.await().exitCode());
  }

  private void assertNobodyLeads() throws Exception {
    String text = interlock.run("leader", uri, name).assertDone().out();
    assertTrue(text.endsWith("Z  nobody leads"), text);
    JsonObject json = json(interlock.run("leader", "--json", uri, name).assertDone().out());
    assertFalse(json.get("hasLeader").getAsBoolean());
    assertTrue(json.get("leader").isJsonNull(), json::toString);
    assertTrue(json.get("token").isJsonNull(), json::toString);
  }

  private static JsonObject json(String line) {
    return JsonParser.parseString(line).getAsJsonObject();
  }

  private String[] elect(String script, String... options) {
    return run("elect", script, options);
  }
}
