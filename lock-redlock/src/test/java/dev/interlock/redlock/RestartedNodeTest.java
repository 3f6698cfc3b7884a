package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.claim;
import static dev.interlock.redlock.Backends.eventually;
import static dev.interlock.redlock.Backends.soon;
import static dev.interlock.redlock.Backends.take;
import static dev.interlock.redlock.Backends.tryTake;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A restarted node does not vote until the locks that it may have forgotten have ended. */
class RestartedNodeTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final Duration TTL = Duration.ofSeconds(2);
  private static final String QUERY = "?maxTtl=3s&nodeTimeout=5s";

  @AutoClose private RedlockNodes redlock;
  private List<RedisServer> nodes;

  @BeforeEach
  void startNodes() {
    redlock = Testbed.redlockNodes().nodes(3).forFaults().start();
    nodes = redlock.members();
  }

  @Test
  void aNodeThatCameBackEmptyDoesNotLetASecondHolderIn() throws Exception {
    try (LockBackend backend = Backends.open(redlock.uri() + QUERY)) {
      nodes.get(2).kill();
      Claim holder = claim("job", TTL);
      Grant first = take(backend, holder);
      long token = first.token();
      nodes.get(0).restartEmpty();
      nodes.get(2).restart();
      // Nodes 0 and 2 know of no holder, and would be a majority.
      Optional<Grant> second = tryTake(backend, claim("job", TTL));
      assertTrue(
          second.isEmpty() || System.nanoTime() - first.validUntil() >= 0,
          "a second holder was let in");
      eventually(
          "a token above the holder's, when its TTL has passed",
          () ->
              tryTake(backend, claim("job", TTL))
                  .filter(grant -> grant.token() > token)
                  .isPresent());
      String holderKey = (String) nodes.get(1).call("GET", "interlock:{job}");
      assertTrue(holderKey == null || !holderKey.startsWith(holder.id()), holderKey);
    }
  }

  @Test
  void anEmptyNodeIsRefusedThenAdmittedWithTheFloorOfTheOthers() throws Exception {
    try (LockBackend backend = Backends.open(redlock.uri() + QUERY)) {
      nodes.get(1).call("SET", "interlock:{job}:fence", "70000000000000");
      Claim claim = claim("job", TTL);
      long token = take(backend, claim).token();
      backend.release(claim, soon());
      nodes.get(0).restartEmpty();
      nodes.get(2).kill();

      LockUnavailableException refused =
          assertThrows(
              LockUnavailableException.class,
              () -> {
                while (true) {
                  Claim again = claim("job", TTL);
                  take(backend, again);
                }
              });
      assertTrue(refused.getMessage().contains("no majority of 2 of 3 nodes"), refused::getMessage);

      nodes.get(2).restart();
      eventually(
          "node 0 votes again",
          () ->
              nodes.get(0).call("HGET", "interlock:redlock", "base") instanceof String base
                  && Long.parseLong(base) >= 70000000000001L);
      eventually(
          "a token above the last one",
          () ->
              tryTake(backend, claim("job", TTL))
                  .filter(grant -> grant.token() > token)
                  .isPresent());
    }
  }

  @Test
  void aNodeThatLostItsRecordIsTreatedAsOneThatCameBackEmpty() throws Exception {
    try (LockBackend backend = Backends.open(redlock.uri() + QUERY)) {
      long lostAt = System.nanoTime();
      nodes.get(0).call("DEL", "interlock:redlock");
      take(backend, claim("job", TTL));
      eventually(
          "it votes again",
          () ->
              nodes.get(0).call("HGET", "interlock:redlock", "run") != null
                  && nodes.get(0).call("HGET", "interlock:redlock", "pending") == null);
      // Not before the longest TTL has passed, by clocks that are not quite alike.
      long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - lostAt);
      assertTrue(millis > 2_900, () -> "votes again after " + millis + " ms");
    }
  }

  /** If the third node were new, too, these two would be a majority of a new cluster. */
  @Test
  void aNodeThatCameBackEmptyDoesNotVoteBesideOneThatNeverVotedBefore() throws Exception {
    String uri = redlock.uri() + "?maxTtl=2s&nodeTimeout=2s";
    nodes.get(0).kill();
    AtomicReference<Grant> first = new AtomicReference<>();
    try (LockBackend backend = Backends.open(uri)) {
      eventually(
          "a lock without it",
          () -> {
            first.set(tryTake(backend, claim("job", TTL)).orElse(null));
            return first.get() != null;
          });
    }
    nodes.get(0).restart();
    nodes.get(1).restartEmpty();
    nodes.get(2).kill();
    try (LockBackend backend = Backends.open(uri)) {
      assertEquals(Optional.empty(), tryTake(backend, claim("job", TTL)));
    }
  }

  @Test
  void aMajorityRestartedWithItsDataVotesAgainAfterTheLongestTtl() throws Exception {
    long token;
    try (LockBackend backend = Backends.open(redlock.uri() + QUERY)) {
      Claim claim = claim("job", TTL);
      token = take(backend, claim).token();
      backend.release(claim, soon());
      for (RedisServer node : nodes) {
        node.kill();
        node.restart();
      }
    }
    try (LockBackend backend = Backends.open(redlock.uri() + QUERY)) {
      eventually(
          "a token above the last one",
          () ->
              tryTake(backend, claim("job", TTL))
                  .filter(grant -> grant.token() > token)
                  .isPresent());
    }
  }

  @Test
  void aDurableNodeVotesAtOnce() throws Exception {
    try (LockBackend backend =
        Backends.open(redlock.uri() + "?maxTtl=1h&nodeTimeout=5s&durable=true")) {
      for (RedisServer node : nodes) {
        node.kill();
        node.restart();
      }
      eventually("all vote", () -> tryTake(backend, claim("job", TTL)).isPresent());
    }
  }
}
