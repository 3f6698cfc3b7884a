package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.run.Proxies;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.AppConfigurationEntry.LoginModuleControlFlag;
import javax.security.auth.login.Configuration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.server.auth.DigestLoginModule;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Users whom the servers authenticate by SASL, which is configured for the whole JVM. */
@Isolated("all clients of the JVM read its JAAS configuration")
class SaslTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  /** The property of a mode in which no mechanism works without Kerberos. */
  private static final String FIPS = "zookeeper.fips-mode";

  /**
   * The server's principal: without this property the driver looks up the server's name before it
   * connects.
   */
  private static final String PRINCIPAL = "zookeeper.server.principal";

  private static final String MODULE = DigestLoginModule.class.getName();

  @TempDir static Path directory;

  @AutoClose private static ZooKeeperEnsemble server;

  @BeforeAll
  static void start() throws Exception {
    Path users = directory.resolve("server.jaas");
    setPassword(users, "secret");
    server = server(users);
  }

  private static void setPassword(Path users, String password) throws IOException {
    Files.writeString(users, "Server { " + MODULE + " required user_app=\"" + password + "\"; };");
  }

  private static ZooKeeperEnsemble server(Path users) {
    return Testbed.zookeeper()
        .withoutSync()
        .tick(Backends.TICK)
        .jvmFlags(
            "-D" + FIPS + "=false",
            "-Djava.security.auth.login.config=" + users,
            "-Dzookeeper.authProvider.1="
                + "org.apache.zookeeper.server.auth.SASLAuthenticationProvider")
        .start();
  }

  @Test
  void theLocksOfAUserAreForThatUserAloneByDefault() throws Exception {
    String forAnyone = Backends.uri(server) + "&namespace=any&access=anyone";
    try (LockClient user = asUser(Backends.uri(server));
        LockClient open = asUser(forAnyone);
        LockClient stranger = LockClient.open(Backends.uri(server), Backends.OPTIONS);
        LockClient anyone = LockClient.open(forAnyone, Backends.OPTIONS);
        CuratorFramework observer = Backends.curator(server.connectString())) {
      Lease lease = user.lock("job").acquire();
      assertThrows(
          KeeperException.NoAuthException.class,
          () -> observer.getChildren().forPath("/interlock/job"));
      assertThrows(LockConfigurationException.class, () -> stranger.admin().forceRelease("job"));
      lease.release();
      stranger.lock("another").acquire().release();
      Lease shared = open.lock("job").acquire();
      assertTrue(anyone.lock("job").tryAcquire().isEmpty());
      shared.release();
      anyone.lock("job").acquire().release();
    }
  }

  @Test
  void aReleaseWhoseAnswerWasLostIsNoLossIfTheLoginIsRefusedThen() throws Exception {
    Path users = directory.resolve("changing.jaas");
    setPassword(users, "secret");
    try (ZooKeeperEnsemble changing = server(users);
        Network network = Proxies.network(changing.uri(), 2181).orElseThrow()) {
      String uri = network.uri() + "?tickTime=200ms&sessionTimeout=20s&access=anyone";
      asUser(
          () -> {
            try (ZooKeeperBackend backend = Backends.open(uri);
                ZooKeeperBackend other = Backends.open(Backends.uri(changing))) {
              Claim claim = Backends.claim("job");
              Backends.take(backend, claim);
              CompletableFuture<Boolean> released;
              try (Disturbance lost = network.everywhere(way -> way.loseReplies("job/"))) {
                released = CompletableFuture.supplyAsync(() -> release(backend, claim));
                Eventually.holds("released", () -> !other.inspect("job", Backends.soon()).isHeld());
                setPassword(users, "another");
                changing.members().get(0).restart();
              }
              ExecutionException unknown =
                  assertThrows(ExecutionException.class, () -> released.get(1, TimeUnit.MINUTES));
              assertInstanceOf(LockUnavailableException.class, unknown.getCause());
              assertTrue(
                  unknown.getMessage().contains("refuses the client's authentication"),
                  unknown::getMessage);
            }
            return null;
          });
    }
  }

  private static boolean release(ZooKeeperBackend backend, Claim claim) {
    try {
      return backend.release(claim, Deadline.in(Backends.TIME, Duration.ofMinutes(1)));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Opens a client while the JVM has a user, which the client keeps. */
  private static LockClient asUser(String uri) throws Exception {
    return asUser(() -> LockClient.open(uri, Backends.OPTIONS));
  }

  /** Runs an action while the JVM has a user. */
  private static <T> T asUser(Callable<T> action) throws Exception {
    Configuration before = configured();
    System.setProperty(FIPS, "false");
    System.setProperty(PRINCIPAL, "zookeeper/zk-sasl-md5");
    Configuration.setConfiguration(
        new Configuration() {
          @Override
          public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
            return name.equals("Client")
                ? new AppConfigurationEntry[] {
                  new AppConfigurationEntry(
                      MODULE,
                      LoginModuleControlFlag.REQUIRED,
                      Map.of("username", "app", "password", "secret"))
                }
                : null;
          }
        });
    try {
      return action.call();
    } finally {
      Configuration.setConfiguration(before);
      System.clearProperty(FIPS);
      System.clearProperty(PRINCIPAL);
    }
  }

  private static Configuration configured() {
    try {
      return Configuration.getConfiguration();
    } catch (SecurityException e) {
      return null; // there is none
    }
  }
}
