package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A password in a file is changed while locks are held and waited for. */
class PasswordFileTest {

  private static final LockOptions OPTIONS =
      LockOptions.builder()
          .ttl(Duration.ofSeconds(60))
          .requestTimeout(Duration.ofSeconds(10))
          .build();

  @TempDir Path directory;
  @AutoClose private RedlockNodes redlock;
  private Path file;
  private String uri;

  @BeforeEach
  void start() throws Exception {
    redlock = Testbed.redlockNodes().nodes(3).user("app", "first", "~* &* +@all").start();
    file = Files.writeString(directory.resolve("password"), "first\n");
    uri =
        redlock.members().stream()
            .map(node -> "127.0.0.1:" + node.port())
            .collect(
                Collectors.joining(",", "redlock://app@", "?nodeTimeout=5s&passwordFile=" + file));
  }

  @Test
  void aFileThatIsNotYetRightIsAnOutage() throws Exception {
    try (LockClient client = LockClient.open(uri, OPTIONS)) {
      Lease held = client.lock("job").acquire();
      onEachNode("ACL", "SETUSER", "app", ">second", "<first");
      onEachNode("CLIENT", "KILL", "USER", "app");
      LockUnavailableException refused =
          assertThrows(LockUnavailableException.class, () -> client.lock("third").tryAcquire());
      assertTrue(refused.getMessage().contains("refuses the user or the password"));
      CompletableFuture<Lease> waiting = client.lock("another").acquireAsync();
      Files.writeString(file, "second\n");
      assertEquals(ReleaseOutcome.RELEASED, waiting.get(50, TimeUnit.SECONDS).release());
      Eventually.holds("renewed", () -> isRenewed(held));
      assertEquals(ReleaseOutcome.RELEASED, held.release());
    }
  }

  private static boolean isRenewed(Lease lease) throws InterruptedException {
    try {
      lease.renew();
      return true;
    } catch (LockUnavailableException e) {
      return false; // a node is not yet connected
    }
  }

  private void onEachNode(String... command) throws Exception {
    for (RedisServer node : redlock.members()) {
      node.call(command);
    }
  }
}
