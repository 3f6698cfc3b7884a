package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A leader that ends its process from within its work, while a shutdown hook closes its candidacy:
 * the work waits for the hook, and the hook for the work.
 */
@Tag("extended")
class ExitingLeaderTest {

  /** The time-out of actions that are instant except on a busy machine. */
  private static final Duration SLACK = Duration.ofSeconds(15);

  @AutoClose private static final RedisServer redis = Testbed.redis().start();

  /** Another process: leads, and exits as soon as it is told to. */
  static final class Leader {
    static final String ELECTION = "controller";
    static final int EXIT_CODE = 3;
    static final LockOptions OPTIONS =
        LockOptions.builder()
            .ttl(Duration.ofSeconds(4))
            .requestTimeout(Duration.ofSeconds(1))
            .openTimeout(Duration.ofMinutes(1))
            .build();

    private Leader() {}

    public static void main(String[] arguments) throws Exception {
      LockClient client = LockClient.open(arguments[0], OPTIONS);
      LeaderElection.Candidacy candidacy =
          client
              .election(ELECTION)
              .start(
                  leadership -> {
                    System.out.println(leadership.fencingToken());
                    int unused = System.in.read();
                    System.exit(EXIT_CODE);
                  });
      Runtime.getRuntime().addShutdownHook(new Thread(candidacy::close));
      Thread.currentThread().join();
    }
  }

  @Test
  void aLeaderWhoseWorkExitsEndsItsProcessAndItsLeadership() throws Exception {
    Process leader =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Leader.class.getName(),
                redis.uri())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (LockClient client = LockClient.open(redis.uri(), Leader.OPTIONS);
        BufferedReader answers =
            new BufferedReader(
                new InputStreamReader(leader.getInputStream(), StandardCharsets.UTF_8))) {
      long token = Long.parseLong(answers.readLine());
      leader.getOutputStream().write('\n');
      leader.getOutputStream().flush();

      Duration end = Leader.OPTIONS.ttl().plus(Leader.OPTIONS.requestTimeout()).plus(SLACK);
      Optional<Lease> next = client.election(Leader.ELECTION).tryCampaign(end);
      assertTrue(next.isPresent(), "the leader that wants to exit still renews its leadership");
      assertTrue(next.get().fencingToken() > token);
      assertTrue(leader.waitFor(end.toMillis(), TimeUnit.MILLISECONDS), "the process goes on");
      assertEquals(Leader.EXIT_CODE, leader.exitValue());
    } finally {
      Process unused = leader.destroyForcibly();
      leader.waitFor();
    }
  }
}
