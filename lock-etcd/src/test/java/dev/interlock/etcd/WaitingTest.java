package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.LONG_TIMEOUT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.spi.Grant;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Waiters whose watch breaks or misses events. */
class WaitingTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  @Test
  void aCompactionAndARestartDuringTheWaitLoseNoWaiter() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().forFaults().start();
        LockClient holder = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        LockClient first = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        LockClient second = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      EtcdServer server = etcd.leader();
      Lease lease = holder.lock("job").acquire();
      CompletableFuture<Lease> next = first.lock("job").acquireAsync();
      Eventually.holds("one waits", () -> holder.admin().inspect("job").waiters().size() == 1);
      CompletableFuture<Lease> last = second.lock("job").acquireAsync();
      Eventually.holds("two wait", () -> holder.admin().inspect("job").waiters().size() == 2);
      List<String> before = holder.admin().inspect("job").waiters();

      long revision = lease.fencingToken() / 64;
      server.call("/v3/kv/compaction", "{\"revision\":\"" + revision + "\",\"physical\":true}");
      server.restart();
      Eventually.holds("the queue is back", () -> before.equals(waiters(holder)));
      assertTrue(lease.isHeld());
      assertFalse(next.isDone());

      lease.release();
      Lease successor = next.get(60, TimeUnit.SECONDS);
      assertFalse(last.isDone());
      assertTrue(successor.fencingToken() > lease.fencingToken());
      successor.release();
      last.get(60, TimeUnit.SECONDS).release();
    }
  }

  private static List<String> waiters(LockClient client) {
    try {
      return client.admin().inspect("job").waiters();
    } catch (LockException e) {
      return List.of();
    }
  }

  @Test
  void theLossOfAMemberLosesNoWaiter() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().members(3).forFaults().start();
        LockClient holder = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        LockClient waiting = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      Lease lease = holder.lock("job").acquire();
      CompletableFuture<Lease> waiter = waiting.lock("job").acquireAsync();
      Eventually.holds("it waits", () -> holder.admin().inspect("job").waiters().size() == 1);
      for (EtcdServer member : etcd.members()) {
        member.kill();
        Eventually.holds("others serve", () -> waiters(holder).size() == 1);
        member.restart();
        etcd.heal();
      }
      assertTrue(lease.isHeld());
      assertFalse(waiter.isDone());
      lease.release();
      waiter.get(60, TimeUnit.SECONDS).release();
    }
  }

  /** The stall is longer than the time-out of every request. */
  @Test
  void aStallDoesNotChangeTheOrder() throws Exception {
    LockOptions options = LONG_TIMEOUT.toBuilder().requestTimeout(Duration.ofSeconds(3)).build();
    List<LockClient> clients = new ArrayList<>();
    try (EtcdCluster etcd = Testbed.etcd().forFaults().start();
        FaultProxy proxy = FaultProxy.to("127.0.0.1", etcd.leader().port());
        LockClient holder = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        Client reader =
            Client.builder().endpoints("http://127.0.0.1:" + etcd.leader().port()).build()) {
      Lease lease = holder.lock("job").acquire();
      List<CompletableFuture<Lease>> waiters = new ArrayList<>();
      for (int i = 1; i <= 4; i++) {
        int size = i;
        clients.add(LockClient.open("etcd://127.0.0.1:" + proxy.port(), options));
        waiters.add(clients.get(i - 1).lock("job").acquireAsync());
        Eventually.holds("it waits", () -> holder.admin().inspect("job").waiters().size() == size);
      }
      List<Long> before = order(reader);
      try (NetworkFault stall = proxy.partition()) {
        // Each client connects again when a request has timed out.
        long later = proxy.traffic().accepted() + 2L * clients.size();
        Eventually.holds("they connect again", () -> proxy.traffic().accepted() >= later);
        assertEquals(before, order(reader), stall::toString);
      }
      lease.release();
      for (CompletableFuture<Lease> waiter : waiters) {
        Lease next = waiter.get(60, TimeUnit.SECONDS);
        before.remove(0);
        assertEquals(before.get(0), next.fencingToken() / Grant.LEASES_PER_GRANT);
        next.release();
      }
    } finally {
      clients.forEach(LockClient::close);
    }
  }

  private static List<Long> order(Client reader) throws Exception {
    return new ArrayList<>(
        reader
            .getKVClient()
            .get(LockKeys.of("interlock", "job").prefix(), QueueOps.all())
            .get()
            .getKvs()
            .stream()
            .map(KeyValue::getCreateRevision)
            .toList());
  }

  /** Records the reads that are sent. */
  private static final class Reads implements ClientInterceptor {
    final List<RangeRequest> reads = new CopyOnWriteArrayList<>();
    final List<RangeRequest> readWithPut = new CopyOnWriteArrayList<>();

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(
        MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
      return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
        @Override
        public void sendMessage(Q message) {
          if (message instanceof RangeRequest read) {
            reads.add(read);
          } else if (message instanceof TxnRequest transaction) {
            boolean puts = transaction.getSuccessList().stream().anyMatch(RequestOp::hasRequestPut);
            transaction.getSuccessList().stream()
                .filter(RequestOp::hasRequestRange)
                .map(RequestOp::getRequestRange)
                .forEach((puts ? readWithPut : reads)::add);
          }
          super.sendMessage(message);
        }
      };
    }

    static boolean isOfOneKey(RangeRequest read) {
      return read.getRangeEnd().isEmpty();
    }
  }

  /** If each poll read the whole queue, a thousand waiters would occupy the server. */
  @Test
  void theCostOfAWaiterDoesNotDependOnTheQueue() throws Exception {
    Reads recorded = new Reads();
    LockOptions often = LONG_TIMEOUT.toBuilder().pollInterval(Duration.ofMillis(100)).build();
    try (EtcdCluster etcd = Testbed.etcd().start();
        LockClient first = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        LockClient second = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        Client client =
            Client.builder()
                .endpoints("http://127.0.0.1:" + etcd.leader().port())
                .interceptor(recorded)
                .build();
        LockClient third = EtcdLocks.using(client, often)) {
      Lease lease = first.lock("job").acquire();
      CompletableFuture<Lease> next = second.lock("job").acquireAsync();
      Eventually.holds("one waits", () -> first.admin().inspect("job").waiters().size() == 1);
      CompletableFuture<Lease> last = third.lock("job").acquireAsync();
      Eventually.holds("two wait", () -> first.admin().inspect("job").waiters().size() == 2);
      // The waiter polls until its watch is in place.
      Eventually.holds("it polls", () -> recorded.reads.size() >= 20);
      List<RangeRequest> polls =
          recorded.reads.subList(recorded.reads.size() - 6, recorded.reads.size());
      assertTrue(polls.stream().allMatch(Reads::isOfOneKey), () -> "polls: " + polls);
      assertTrue(
          recorded.readWithPut.stream().allMatch(read -> Reads.isOfOneKey(read) || isOfAFew(read)),
          () -> "with a put: " + recorded.readWithPut);
      lease.release();
      next.get(60, TimeUnit.SECONDS).release();
      last.get(60, TimeUnit.SECONDS).release();
    }
  }

  private static boolean isOfAFew(RangeRequest read) {
    return read.getLimit() > 0 && read.getSortOrder() == RangeRequest.SortOrder.NONE;
  }

  /**
   * The time for which connections are reset. A system property can make it longer than in the
   * build.
   */
  private static final Duration RESETS =
      Duration.ofSeconds(Integer.getInteger("interlock.etcd.resets", 2));

  private static final int CLIENTS = 20;

  @Test
  void resetsFiveTimesASecondHangNoWaiterAndBreakNoExclusion() throws Exception {
    LockOptions options = LONG_TIMEOUT.toBuilder().ttl(Duration.ofSeconds(20)).build();
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
                        // Checked only while the lease is valid, because it may be lost in a storm.
                        assertTrue(alone || !lease.isHeld(), "two at a time");
                        assertTrue(before < lease.fencingToken(), "the token went back");
                        grants.incrementAndGet();
                      } catch (LockException e) {
                        // The store was not reachable for a TTL.
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
        // The number of grants depends on whether this machine can connect within 200 ms.
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
