package dev.interlock.cli;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;

/** Tests whose commands compete for one name on a Redis server. */
abstract class CommandsOnRedis {
  /** A script that prints its token and runs until a line is typed. */
  static final String HOLD = "echo in $INTERLOCK_TOKEN; read go; echo out";

  @AutoClose static RedisServer redis;
  static String uri;

  @AutoClose final Interlock interlock = new Interlock();
  final String name = "job-" + UUID.randomUUID();

  @BeforeAll
  static void startServer() {
    redis = Testbed.redis().start();
    uri = Interlock.withLongTimeout(redis.uri());
  }

  /** The arguments of a command that runs a script. */
  final String[] run(String command, String script, String... options) {
    List<String> arguments = new ArrayList<>(List.of(command));
    arguments.addAll(List.of(options));
    arguments.addAll(List.of(uri, name, "--", "sh", "-c", script));
    return arguments.toArray(String[]::new);
  }

  final String[] exec(String script, String... options) {
    return run("exec", script, options);
  }

  /** Waits until the script runs, and returns its token. */
  static long token(Run run) throws InterruptedException {
    return Long.parseLong(run.out().await("in ").substring("in ".length()));
  }
}
