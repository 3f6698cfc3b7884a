package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.cli.Interlock.Result;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Commands on a Redis server that fails, is absent, or refuses them. */
class RedisFaultsTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final String PASSWORD = "s3cret";

  @AutoClose private static RedisServer redis;

  private final Interlock interlock = new Interlock();
  private final String name = "job-" + UUID.randomUUID();

  @BeforeAll
  static void startServer() {
    redis = Testbed.redis().password(PASSWORD).forFaults().start();
  }

  @AfterEach
  void endAll() {
    redis.heal(); // first, so that releases succeed
    interlock.close();
  }

  @Test
  void aWrongPortIsAnUnavailableServer() throws Exception {
    int port = Testbed.freePort();
    String uri = "redis://127.0.0.1:" + port;
    interlock.run("exec", uri, "job", "--", "true").assertFailed(69, "127.0.0.1:" + port);
    interlock.run("inspect", uri, "job").assertFailed(69, "127.0.0.1:" + port);
    interlock.run("release", "--force", uri, "job").assertFailed(69, "127.0.0.1:" + port);
  }

  @Test
  void aWrongPasswordIsAWrongSetting() throws Exception {
    String uri = Interlock.withLongTimeout("redis://:wr0ng@127.0.0.1:" + redis.port());
    Result result = interlock.run("exec", uri, "job", "--", "true");
    result.assertFailed(2, "password");
    assertFalse(result.err().contains("wr0ng"), result::err);
    Result debug = interlock.run("--debug", "exec", redis.uri(), "", "--", "true");
    assertFalse(debug.err().contains(PASSWORD), debug::err);
  }

  @Test
  void aMissingPasswordIsAWrongSetting() throws Exception {
    interlock
        .run("inspect", Interlock.withLongTimeout("redis://127.0.0.1:" + redis.port()), "job")
        .assertFailed(2, "password");
  }

  @Test
  void aForeignKeyUnderTheLocksNameIsAWrongSetting() throws Exception {
    redis.call("LPUSH", "interlock:{list}", "value");
    String uri = Interlock.withLongTimeout(redis.uri());
    interlock.run("exec", uri, "list", "--", "true").assertFailed(2, "list");
    assertEquals("list", redis.call("TYPE", "interlock:{list}"));
  }

  @Test
  void aServerThatIsKilledIsUnavailable() throws Exception {
    redis.kill();
    interlock
        .run("exec", "--wait", "300ms", redis.uri(), "job", "--", "true")
        .assertFailed(69, "127.0.0.1:" + redis.port());
  }

  @Test
  void theChildIsEndedWhenTheServerDoesNotComeBackInTime() throws Exception {
    Run run = interlock.start(exec("echo in; read go", "--ttl", "6s"));
    run.out().await("in");
    redis.kill();
    run.err().await("at risk");
    Result result = run.await();
    assertEquals(76, result.exitCode());
    assertTrue(result.err().contains("lease of \"" + name + "\" lost (EXPIRED)"), result::err);
    assertTrue(result.err().contains("SIGTERM now"), result::err);
  }

  @Test
  void theChildGoesOnWhenTheServerComesBackInTime() throws Exception {
    Run run = interlock.start(exec("echo in; read go; exit 5", "--ttl", "20s"));
    run.out().await("in");
    redis.pause();
    run.err().await("at risk");
    redis.resume();
    run.err().await("renewed again");
    run.type("go");
    assertEquals(5, run.await().exitCode());
  }

  @Test
  void anUnconfirmedReleaseIsReportedAndKeepsTheExitCodeOfTheChild() throws Exception {
    Run run = interlock.start(exec("echo in; read go; exit 5", "--ttl", "10m"));
    run.out().await("in");
    redis.kill();
    run.type("go");
    Result result = run.await();
    assertEquals(5, result.exitCode());
    assertTrue(result.err().contains("is free within 10 min"), result::err);
  }

  @Test
  void anOutageThatEndsAWaitDoesNotEndACampaign() throws Exception {
    Run leader = interlock.start(exec("echo in; read go", "--ttl", "10m"));
    leader.out().await("in");
    // A killed server refuses at once, but a busy one may take long to answer.
    String uri = Interlock.withLongTimeout(redis.uri());
    Run candidate =
        interlock.start(run(uri, "elect", "echo in; read go; exit 5", "--ttl", "2s", "--verbose"));
    candidate.err().await("campaigning");
    Run waiter = interlock.start(run(uri, "exec", "echo in", "--ttl", "2s", "--verbose"));
    waiter.err().await("waiting");
    redis.kill();
    candidate.err().await("despite an outage");
    assertEquals(69, waiter.await().exitCode());
    assertTrue(candidate.isAlive());
    redis.heal();
    redis.call("DEL", "interlock:{" + name + "}");
    candidate.out().await("in");
    candidate.type("go");
    assertEquals(5, candidate.await().exitCode());
  }

  private String[] exec(String script, String... options) {
    return run(redis.uri(), "exec", script, options);
  }

  private String[] run(String uri, String command, String script, String... options) {
    List<String> arguments = new ArrayList<>(List.of(command));
    arguments.addAll(List.of(options));
    arguments.addAll(List.of(uri, name, "--", "sh", "-c", script));
    return arguments.toArray(String[]::new);
  }
}
