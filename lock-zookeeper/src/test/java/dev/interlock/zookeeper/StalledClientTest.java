package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.testbed.zookeeper.ZooKeeperServer;
import java.time.Duration;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A leader ends the session of a client that it has not heard from, although it has just committed
 * a write of that client. A follower forwards the write at once, but reports the client as alive
 * only with its next answer to the leader's ping.
 */
@Tag("extended")
class StalledClientTest {

  private static final long LIMIT_SECONDS = 60;
  private static final Duration TICK = Duration.ofSeconds(1);
  private static final Duration SESSION = TICK.multipliedBy(4);

  /**
   * The time before the session's end at which the holder releases. The leader's next ping comes
   * within half a tick.
   */
  private static final Duration TIME_BEFORE_END = Duration.ofMillis(150);

  private static final LockOptions OPTIONS =
      LockOptions.builder()
          .ttl(SESSION)
          .requestTimeout(Duration.ofSeconds(20))
          .pollInterval(Duration.ofMinutes(10))
          .build();
  private static final ZooKeeperSettings SETTINGS =
      ZooKeeperSettings.builder().tickTime(TICK).build();

  private static final DateTimeFormatter EXPIRY =
      DateTimeFormatter.ofPattern("EEE MMM dd HH:mm:ss zzz yyyy", Locale.ENGLISH);

  private final ExecutorService executor = Executors.newCachedThreadPool();

  @Test
  void aClientThatTheLeaderDidNotHearGetsNoGrantOnAnEndingSession() throws Exception {
    try (ZooKeeperEnsemble ensemble =
            Testbed.zookeeper().withoutSync().members(3).tick(TICK).start();
        FaultProxy way = FaultProxy.to("127.0.0.1", member(ensemble, "follower").port());
        CuratorFramework one = Backends.curator(address(member(ensemble, "leader").port()));
        CuratorFramework two = Backends.curator(address(way.port()), SESSION);
        LockBackend others = backend(one);
        ZooKeeperBackend stalled = backend(two)) {
      Grant grant = Backends.take(others, Backends.claim("held"));
      Grant sign = Backends.take(others, Backends.claim("sign"));
      long session = two.getZookeeperClient().getZooKeeper().getSessionId();
      try (Place place = stalled.join(Backends.claim("held"), Backends.soon());
          Place last = backend(one).join(Backends.claim("held"), Backends.soon());
          Place heard = stalled.join(Backends.claim("sign"), Backends.soon())) {
        Future<Optional<Grant>> early = executor.submit(() -> await(place));
        Future<Optional<Grant>> unused = executor.submit(() -> await(heard));
        Future<Optional<Grant>> later = executor.submit(() -> await(last));
        ZooKeeperServer leader = member(ensemble, "leader");
        // The last waiter watches both nodes ahead of it.
        Eventually.holds("all three wait", () -> watched(ensemble) == 4);
        try (NetworkFault silence = way.hold(Direction.CLIENT_TO_SERVER)) {
          // The follower may still have to report the last sign of life.
          waitUntil(millis() + TICK.toMillis());
          long end = endOf(session, leader);
          // The driver hears this, and keeps the connection.
          waitUntil(end - SESSION.toMillis() / 2);
          others.release(sign.claim(), Backends.soon());
          waitUntil(end - 3 * TIME_BEFORE_END.toMillis());
          others.release(grant.claim(), Backends.soon());
          waitUntil(end - TIME_BEFORE_END.toMillis());
        }
        Optional<Grant> granted = early.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        if (granted.isPresent()) {
          // A grant is wrong unless the leader has heard from the client in time.
          waitUntil(granted.get().validUntil() / 1_000_000);
          assertFalse(later.isDone(), () -> "two holders, one of them " + granted);
          stalled.release(granted.get().claim(), Backends.soon());
        }
        assertTrue(later.get(LIMIT_SECONDS, TimeUnit.SECONDS).isPresent());
      }
    } finally {
      executor.shutdownNow();
    }
  }

  private static long watched(ZooKeeperEnsemble ensemble) throws Exception {
    long watches = 0;
    for (ZooKeeperServer member : ensemble.members()) {
      watches += member.ask("wchp").lines().filter(line -> line.startsWith("/interlock/")).count();
    }
    return watches;
  }

  private static Optional<Grant> await(Place place) throws InterruptedException {
    try {
      return place.await(Backends.soon()) instanceof Attempt.Granted granted
          ? Optional.of(granted.grant())
          : Optional.empty();
    } catch (LockUnavailableException e) {
      return Optional.empty(); // its session has ended
    }
  }

  /**
   * Returns when the leader will end a session, in milliseconds of the monotonic clock, which all
   * processes share. The leader ends sessions at whole ticks, and shows the second.
   */
  private static long endOf(long session, ZooKeeperServer leader) throws Exception {
    String wanted = "0x" + Long.toHexString(session);
    String line = "";
    for (String each : leader.ask("dump").lines().toList()) {
      if (each.contains(" expire at ")) {
        line = each;
      } else if (each.strip().equals(wanted)) {
        break;
      }
    }
    long second =
        ZonedDateTime.parse(line.replaceAll(".* expire at (.*):", "$1"), EXPIRY)
            .toInstant()
            .toEpochMilli();
    long offset = System.currentTimeMillis() - millis();
    long tick = TICK.toMillis();
    return -Math.floorDiv(offset - second, tick) * tick;
  }

  private static long millis() {
    return System.nanoTime() / 1_000_000;
  }

  private static void waitUntil(long millis) throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(Math.max(0, millis - millis()));
  }

  private static ZooKeeperBackend backend(CuratorFramework curator) {
    return (ZooKeeperBackend) ZooKeeperLocks.backend(curator, SETTINGS, Backends.context(OPTIONS));
  }

  private static String address(int port) {
    return "127.0.0.1:" + port;
  }

  private static ZooKeeperServer member(ZooKeeperEnsemble ensemble, String mode) throws Exception {
    Eventually.holds(mode, () -> find(ensemble, mode).isPresent());
    return find(ensemble, mode).orElseThrow();
  }

  private static Optional<ZooKeeperServer> find(ZooKeeperEnsemble ensemble, String mode)
      throws Exception {
    for (ZooKeeperServer member : ensemble.members()) {
      if (member.ask("srvr").contains("Mode: " + mode)) {
        return Optional.of(member);
      }
    }
    return Optional.empty();
  }
}
