package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A password in a file is changed while locks are held and waited for. */
class PasswordFileTest {

  private static final LockOptions OPTIONS =
      LockOptions.builder()
          .ttl(Duration.ofMinutes(10))
          .requestTimeout(Duration.ofSeconds(10))
          .build();

  @TempDir Path directory;
  private RedisServer server;
  private Path file;
  private String uri;

  @BeforeEach
  void start() throws Exception {
    server = Testbed.redis().user("app", "first", "~* &* +@all").start();
    file = Files.writeString(directory.resolve("password"), "first\n");
    uri = "redis://app@127.0.0.1:" + server.port() + "?passwordFile=" + file;
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void aFileThatIsNotYetRightIsAnOutage() throws Exception {
    try (LockClient client = LockClient.open(uri, OPTIONS)) {
      Lease lease = client.lock("job").acquire();
      server.call("ACL", "SETUSER", "app", ">second", "<first");
      cutConnections();
      for (String content : new String[] {"first\n", "sec", ""}) {
        Files.writeString(file, content);
        assertThrows(LockUnavailableException.class, lease::renew);
      }
      Files.delete(file);
      assertThrows(LockUnavailableException.class, lease::renew);
      CompletableFuture<Lease> waiting = client.lock("another").acquireAsync();
      LockUnavailableException refused =
          assertThrows(LockUnavailableException.class, () -> client.lock("third").tryAcquire());
      assertTrue(refused.getMessage().contains("refuses the user or the password"));
      assertFalse(waiting.isDone());
      Files.writeString(file, "second\n");
      assertEquals(ReleaseOutcome.RELEASED, waiting.get(30, TimeUnit.SECONDS).release());
      lease.renew();
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }
  }

  @Test
  void aWrongPasswordAtOpeningIsNotTriedAgain() throws Exception {
    Files.writeString(file, "sec");
    assertThrows(LockConfigurationException.class, () -> LockClient.open(uri, OPTIONS));
  }

  private void cutConnections() throws Exception {
    assertTrue((Long) server.call("CLIENT", "KILL", "USER", "app") > 0);
  }
}
