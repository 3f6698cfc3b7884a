package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.PATIENT;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Waiters that have bad luck with their watch. */
class WaitingTest {

  @Test
  void aCompactionAndARestartDuringTheWaitLoseNoWaiter() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().forFaults().start();
        LockClient holder = LockClient.open(etcd.uri(), PATIENT);
        LockClient first = LockClient.open(etcd.uri(), PATIENT);
        LockClient second = LockClient.open(etcd.uri(), PATIENT)) {
      EtcdServer server = etcd.leader();
      Lease held = holder.lock("job").acquire();
      CompletableFuture<Lease> next = first.lock("job").acquireAsync();
      Eventually.holds("one waits", () -> holder.inspect("job").waiters().size() == 1);
      CompletableFuture<Lease> last = second.lock("job").acquireAsync();
      Eventually.holds("two wait", () -> holder.inspect("job").waiters().size() == 2);
      List<String> before = holder.inspect("job").waiters();

      long revision = held.fencingToken() / 64;
      server.call("/v3/kv/compaction", "{\"revision\":\"" + revision + "\",\"physical\":true}");
      server.restart();
      Eventually.holds("the line is there again", () -> before.equals(waiters(holder)));
      assertTrue(held.isHeld());
      assertFalse(next.isDone());

      held.release();
      Lease had = next.get(60, TimeUnit.SECONDS);
      assertFalse(last.isDone());
      assertTrue(had.fencingToken() > held.fencingToken());
      had.release();
      last.get(60, TimeUnit.SECONDS).release();
    }
  }

  private static List<String> waiters(LockClient client) {
    try {
      return client.inspect("job").waiters();
    } catch (LockException e) {
      return List.of();
    }
  }

  @Test
  void aMemberThatGoesTakesNoWaiterWithIt() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().members(3).forFaults().start();
        LockClient holder = LockClient.open(etcd.uri(), PATIENT);
        LockClient waiting = LockClient.open(etcd.uri(), PATIENT)) {
      Lease held = holder.lock("job").acquire();
      CompletableFuture<Lease> waiter = waiting.lock("job").acquireAsync();
      Eventually.holds("it waits", () -> holder.inspect("job").waiters().size() == 1);
      for (EtcdServer member : etcd.members()) {
        member.kill();
        Eventually.holds("others serve", () -> waiters(holder).size() == 1);
        member.restart();
        etcd.heal();
      }
      assertTrue(held.isHeld());
      assertFalse(waiter.isDone());
      held.release();
      waiter.get(60, TimeUnit.SECONDS).release();
    }
  }

  /** For how long connections are reset; more than the build has time for can be asked for. */
  private static final Duration RESETS =
      Duration.ofSeconds(Integer.getInteger("interlock.etcd.resets", 2));

  private static final int CLIENTS = 20;

  @Test
  void resetsFiveTimesASecondHangNoWaiterAndBreakNoExclusion() throws Exception {
    LockOptions options = PATIENT.toBuilder().ttl(Duration.ofSeconds(20)).build();
    try (EtcdCluster etcd = Testbed.etcd().forFaults().start();
        FaultProxy proxy = FaultProxy.to("127.0.0.1", etcd.leader().port())) {
      String uri = "etcd://127.0.0.1:" + proxy.port();
      List<LockClient> clients = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(LockClient.open(uri, options));
      }
      ScheduledExecutorService resets = Executors.newSingleThreadScheduledExecutor();
      ExecutorService workers = Executors.newFixedThreadPool(CLIENTS);
      AtomicBoolean over = new AtomicBoolean();
      AtomicInteger inside = new AtomicInteger();
      AtomicLong lastToken = new AtomicLong();
      AtomicInteger cut = new AtomicInteger();
      AtomicInteger grants = new AtomicInteger();
      List<Future<?>> ends = new ArrayList<>();
      try {
        var unused =
            resets.scheduleAtFixedRate(
                () -> cut.addAndGet(proxy.reset()), 200, 200, TimeUnit.MILLISECONDS);
        for (LockClient client : clients) {
          ends.add(
              workers.submit(
                  () -> {
                    while (!over.get()) {
                      try (Lease lease = client.lock("storm").acquire()) {
                        boolean alone = inside.incrementAndGet() == 1;
                        long before = lastToken.getAndSet(lease.fencingToken());
                        inside.decrementAndGet();
                        // Only while it is held for certain: a lease may be lost in a storm.
                        assertTrue(alone || !lease.isHeld(), "two at a time");
                        assertTrue(before < lease.fencingToken(), "the token went back");
                        grants.incrementAndGet();
                      } catch (LockException e) {
                        // Out of reach for a TTL.
                      }
                    }
                    return null;
                  }));
        }
        TimeUnit.NANOSECONDS.sleep(RESETS.toNanos());
        resets.shutdownNow();
        assertTrue(resets.awaitTermination(60, TimeUnit.SECONDS));
        assertTrue(cut.get() > 0, "no connection was reset");
        over.set(true);
        // How many grants there were depends on whether a connection can be made in 200 ms here.
        for (Future<?> end : ends) {
          end.get(120, TimeUnit.SECONDS);
        }
        for (LockClient client : clients) {
          client.lock("storm").acquire().release();
        }
        System.out.println(grants + " grants, " + cut + " connections reset in " + RESETS);
      } finally {
        over.set(true);
        resets.shutdownNow();
        workers.shutdownNow();
        clients.forEach(LockClient::close);
      }
      Eventually.holds("nothing stays", () -> Backends.keys(etcd.leader(), "interlock/lock/") == 0);
    }
  }
}
