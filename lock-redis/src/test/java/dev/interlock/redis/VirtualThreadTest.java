package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An interrupt breaks the socket that a virtual thread reads from; there are none before 21. */
@EnabledForJreRange(min = JRE.JAVA_21)
class VirtualThreadTest {

  private static final LockOptions OPTIONS =
      LockOptions.builder()
          .ttl(Duration.ofMinutes(20))
          .requestTimeout(Duration.ofMinutes(10))
          .build();

  private static Thread startVirtual(Runnable work) throws ReflectiveOperationException {
    return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
  }

  @ParameterizedTest
  @ValueSource(ints = {PooledNode.NEVER_JOINED, 0})
  void anInterruptInTheMiddleOfARequestEndsTheWaitAndTheGrantThatNobodyGotIsUndone(int maxSeparate)
      throws Exception {
    try (RedisServer redis = Testbed.redis().start();
        LockClient client = Backends.client(redis.uri(), OPTIONS, maxSeparate);
        LockClient other = LockClient.open(redis.uri(), OPTIONS)) {
      client.lock("warm").acquire().release();
      redis.pause();
      CompletableFuture<Lease> acquired = new CompletableFuture<>();
      Thread waiter =
          startVirtual(
              () -> {
                try {
                  acquired.complete(client.lock("job").acquire());
                } catch (InterruptedException | RuntimeException e) {
                  acquired.completeExceptionally(e);
                }
              });
      Eventually.holds("the request is sent", () -> waiter.getState().name().endsWith("WAITING"));
      waiter.interrupt();
      Throwable failure = acquired.handle((lease, thrown) -> thrown).get(1, TimeUnit.MINUTES);
      assertEquals(InterruptedException.class, failure.getClass());

      redis.resume();
      // Long before the TTL: the late grant of the server was released.
      assertTrue(other.lock("job").tryAcquire(Duration.ofMinutes(1)).isPresent());
      // The client continues on another connection.
      client.lock("warm").acquire().release();
    }
  }

  @Test
  void manyShareOneConnection() throws Exception {
    int many = 200;
    try (RedisServer redis = Testbed.redis().start();
        LockClient client = Backends.client(redis.uri(), OPTIONS, 0)) {
      List<CompletableFuture<Long>> all = new ArrayList<>();
      for (int i = 0; i < many; i++) {
        String name = "job " + i;
        CompletableFuture<Long> token = new CompletableFuture<>();
        all.add(token);
        startVirtual(
            () -> {
              try (Lease lease = client.lock(name).acquire()) {
                token.complete(lease.fencingToken());
              } catch (InterruptedException | RuntimeException e) {
                token.completeExceptionally(e);
              }
            });
      }
      for (CompletableFuture<Long> token : all) {
        assertTrue(token.get(1, TimeUnit.MINUTES) > 0);
      }
      long connections =
          ((String) redis.call("CLIENT", "LIST"))
              .lines()
              .filter(line -> line.contains(" name=interlock "))
              .count();
      assertTrue(connections <= 2, () -> connections + " connections"); // one has opened the client
    }
  }
}
