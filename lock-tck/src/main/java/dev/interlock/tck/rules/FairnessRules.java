package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.spi.Grant;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;

/** FAIR: the order in which waiters are served. */
@Requires(Capability.FIFO)
public abstract class FairnessRules extends RuleTest {

  private static final String SERVED_BEFORE = "waiters served before an attempt that did not wait";

  /** A held lock, and waiters of one client each, which entered its queue one after the other. */
  private final class WaitingQueue {
    final String name = newName();
    final Lease first;
    final LockClient observer;
    private final Function<LockOptions, LockClient> open;
    final List<LockClient> clients = new ArrayList<>();
    final List<Waiter<Lease>> waiters = new ArrayList<>();
    final Queue<Integer> served = new ConcurrentLinkedQueue<>();

    WaitingQueue(int count) throws InterruptedException {
      this(count, FairnessRules.this::client);
    }

    WaitingQueue(int count, Function<LockOptions, LockClient> open) throws InterruptedException {
      this(client(), open);
      enter(count);
    }

    WaitingQueue(LockClient holder, Function<LockOptions, LockClient> open)
        throws InterruptedException {
      first = holder.lock(name).acquire();
      observer = client();
      this.open = open;
    }

    /** Lets more clients enter the queue, one after the other. */
    void enter(int count) throws InterruptedException {
      int before = (int) waiters.stream().filter(waiter -> !waiter.outcome.isDone()).count();
      for (int i = 0; i < count; i++) {
        int number = waiters.size();
        LockClient client = open.apply(longLived().toBuilder().label("waiter " + number).build());
        clients.add(client);
        Waiter<Lease> waiter =
            new Waiter<>(
                () -> {
                  try (Lease lease = client.lock(name).acquire()) {
                    served.add(number);
                    assertTrue(lease.isHeld());
                    return lease;
                  }
                });
        waiters.add(waiter);
        awaitQueued(observer, name, before + i + 1);
        if (!has(Capability.FIFO)) {
          eventually(waiter::isBlocked, "the thread of a waiter did not block");
        }
      }
    }

    /** Interrupts one waiter, and closes the client of another. */
    void leave(int interrupted, int closed) throws Exception {
      waiters.get(interrupted).interrupt();
      awaitEnd(interrupted);
      clients.get(closed).close();
      awaitEnd(closed);
    }

    /** {@return the labels of the waiters that the store shows} */
    List<String> waiterLabels() {
      return answer(() -> observer.admin().inspect(name)).waiters();
    }

    /**
     * Waits until these waiters have been served, and checks that they were served in this order.
     */
    void assertServed(Integer... numbers) {
      for (int number : numbers) {
        awaitEnd(number);
      }
      assertEquals(List.of(numbers), List.copyOf(served), "not served in the order of arrival");
    }

    private void awaitEnd(int number) {
      eventually(
          bound().multipliedBy(2),
          waiters.get(number).outcome::isDone,
          "waiter " + number + " was not served");
    }
  }

  @Rule("FAIR-01")
  void clientsAreServedInOrderOfArrival() throws Exception {
    testOrderOfArrival(new WaitingQueue(5), queue -> queue.first.close());
  }

  @Rule("FAIR-01")
  void aForcedReleaseKeepsTheOrderOfArrival() throws Exception {
    testOrderOfArrival(
        new WaitingQueue(5),
        queue -> forceRelease(client(), queue.name, "a held lock was reported as free"));
  }

  @Rule("FAIR-01")
  void theEndOfALeaseThatExpiresKeepsTheOrderOfArrival() throws Exception {
    WaitingQueue queue = new WaitingQueue(client(expiring()), this::client);
    for (int count = 0; count < 5; count++) {
      queue.enter(1);
      renewInTime(queue.first);
    }
    awaitExpiry(queue.first);
    testOrderOfArrival(queue, expired -> {});
  }

  private void testOrderOfArrival(WaitingQueue queue, Consumer<WaitingQueue> release)
      throws Exception {
    Future<Integer> before = servedBeforeAttempt(queue);
    release.accept(queue);
    queue.assertServed(0, 1, 2, 3, 4);
    assertEquals(
        5, within(before, "the lock is not free after its last waiter was served"), SERVED_BEFORE);
  }

  /** {@return the number of waiters served before an attempt that does not wait succeeded} */
  private Future<Integer> servedBeforeAttempt(WaitingQueue queue) {
    DistributedLock lock = client().lock(queue.name);
    return inThread(
        () -> {
          while (true) {
            Optional<Lease> lease = answer(lock::tryAcquire);
            if (lease.isPresent()) {
              int served = queue.served.size();
              lease.get().release();
              return served;
            }
            sleep(Duration.ofMillis(1));
          }
        });
  }

  @Rule("FAIR-01")
  void neitherClocksNorLabelsMatter() throws Exception {
    AtomicInteger clients = new AtomicInteger();
    WaitingQueue queue =
        new WaitingQueue(
            4,
            options -> {
              Duration ahead = Duration.ofHours(-clients.incrementAndGet());
              LockOptions same = options.toBuilder().label("the same label").build();
              return client(same, new ShiftedClock(() -> ahead));
            });
    queue.first.close();
    queue.assertServed(0, 1, 2, 3);
  }

  @Rule("FAIR-01")
  void remainingWaitersAreServedInOrderOfArrival() throws Exception {
    WaitingQueue queue = new WaitingQueue(6);
    queue.leave(1, 3);
    queue.first.close();
    queue.assertServed(0, 2, 4, 5);
  }

  @Rule("FAIR-01")
  void waitersKeepTheirPlacesForLongerThanTheirTtls() throws Exception {
    assertTrue(anyOfThree(this::keepTheirPlaces)); // on a busy machine a waiter may poll too late
  }

  private boolean keepTheirPlaces(boolean lastAttempt) throws Exception {
    Queue<Duration> ttls =
        new ConcurrentLinkedQueue<>(
            List.of(renewed().ttl(), acceptedTtl(Duration.ofDays(30)), longLived().ttl()));
    Duration pollInterval = renewed().ttl().plusSeconds(1); // longer than the TTL of the first
    WaitingQueue queue =
        new WaitingQueue(
            3,
            options ->
                client(options.toBuilder().ttl(ttls.remove()).pollInterval(pollInterval).build()));
    List<String> before = queue.waiterLabels();
    sleep(renewed().ttl().multipliedBy(3).dividedBy(2));
    boolean kept = queue.waiterLabels().equals(before);
    assertTrue(
        kept || !lastAttempt, "a waiter lost its place while it waited for longer than its TTL");
    queue.first.close();
    if (kept) {
      queue.assertServed(0, 1, 2);
    }
    return kept;
  }

  /** {@return the TTL, or a usual one if the store refuses it} */
  private Duration acceptedTtl(Duration ttl) {
    try {
      acquireNow(client(options(ttl, true)).lock(newName())).release();
      return ttl;
    } catch (LockConfigurationException e) {
      return longLived().ttl();
    }
  }

  @Rule("FAIR-01")
  void aBusyClientEndsItsTurnWhenAnotherClientWaits() throws Exception {
    String name = newName();
    BusyThreads busy = busyClient(client(), name);
    DistributedLock other = labelled("the other").lock(name);
    LockClient observer = client();
    CountDownLatch queued = busy.hold();
    Future<Integer> served =
        inThread(
            () -> {
              try (Lease lease = other.acquire()) {
                assertTrue(lease.isHeld());
                return busy.grants.get();
              }
            });
    eventually(
        bound().multipliedBy(2),
        () -> observer.admin().inspect(name).waiters().contains("the other"),
        "a waiter is not shown in the queue");
    int whenQueued = busy.grants.get();
    queued.countDown();
    int grants =
        within(timing().longTtl(), served, "a client that waits behind a busy one was not served");
    busy.stop();
    // the current turn, and one of a waiter that was queued earlier
    int between = grants - whenQueued;
    assertTrue(
        between <= 2 * Grant.LEASES_PER_GRANT,
        () -> between + " grants to a busy client came before that of a waiting client");
  }

  @Rule("FAIR-01")
  @Requires(value = Capability.FIFO, absent = true)
  void aBusyClientCannotKeepAnotherWaitingForever() throws Exception {
    String name = newName();
    BusyThreads busy = busyClient(client(renewed()), name);
    DistributedLock other = client(renewed()).lock(name);
    assertFree(
        timing().renewedTtl().multipliedBy(8).plus(bound()),
        other,
        "a client that constantly contends kept another client waiting");
    busy.stop();
  }

  @Rule("FAIR-01")
  @Requires(Capability.STARVATION_FREE)
  void aFarClientIsServedBesideANearOneThatAcquiresAgain() throws Exception {
    String name = newName();
    Network distance = network();
    DistributedLock near = client(renewed()).lock(name);
    DistributedLock far = client(distance, renewed()).lock(name);
    for (Direction direction : Direction.values()) {
      Disturbance unused = distance.delay(direction, Duration.ofMillis(5));
    }
    BusyThreads competing = new BusyThreads(() -> sleep(Duration.ofMillis(200)));
    competing.start(near, 1);
    for (int i = 0; i < 5; i++) {
      assertFree(
          timing().renewedTtl().multipliedBy(3).plus(bound()),
          far,
          "a client that acquires again at once kept one that is farther away waiting");
    }
    competing.stop();
  }

  /** {@return eight threads of one client that acquire and release a lock} */
  private BusyThreads busyClient(LockClient client, String name) {
    BusyThreads busy = new BusyThreads(() -> {});
    busy.start(client.lock(name), 8);
    busy.awaitGrants(Grant.LEASES_PER_GRANT + 1);
    return busy;
  }

  @Rule("FAIR-02")
  void waitersThatLeaveDoNotDisturbTheQueue() throws Exception {
    WaitingQueue queue = new WaitingQueue(6);
    List<String> before = queue.waiterLabels();
    queue.leave(1, 2);
    queue.leave(3, 4);
    eventually(
        () -> waiters(queue.observer, queue.name) == 2, "a waiter that left is still in the queue");
    assertEquals(
        List.of(before.get(0), before.get(5)),
        queue.waiterLabels(),
        "other waiters lost their places");
    queue.enter(2); // must not come before those that have waited for longer
    queue.first.close();
    queue.assertServed(0, 5, 6, 7);
  }

  @Rule("FAIR-02")
  void aWaiterThatTheStoreHasForgottenEntersTheQueueAgain() throws Exception {
    String name = newName();
    LockClient observer = client();
    Lease first = client().lock(name).acquire();
    Network network = network();
    LockClient cutOff = client(network, renewed());
    Future<Optional<Lease>> waiter =
        inThread(() -> cutOff.lock(name).tryAcquire(timing().longTtl().multipliedBy(4)));
    eventually(() -> waiters(observer, name) == 1, "the waiter is not in the queue");
    Lease second;
    try (Disturbance partition = network.partition()) {
      eventually(
          timing().longTtl(),
          () -> waiters(observer, name) == 0,
          "the store keeps the queue entry of a waiter that is cut off");
      first.release();
      second = client().lock(name).acquire();
      assertStruck(partition);
    }
    eventually(
        timing().longTtl(),
        () -> waiter.isDone() || waiters(observer, name) == 1,
        "the waiter did not enter the queue again");
    assertFalse(waiter.isDone(), "the waiter acquired the lock without a queue entry");
    second.release();
    within(waiter, "the waiter was not served").orElseThrow().release();
  }

  /** Waits for a lock, and releases it. */
  static final class AcquireAndRelease implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      return worker.client().lock(arguments.get(0)).acquire().release().toString();
    }
  }

  @Rule("FAIR-02")
  void aWaiterThatWasStoppedForLongIsServed() throws Exception {
    requireSignals();
    String name = newName();
    LockClient observer = client();
    Lease first = acquireNow(observer.lock(name));
    OtherProcess process = process(renewed());
    Duration limit = timing().longTtl();
    Future<String> waiter =
        inThread(() -> process.call(limit.multipliedBy(2), AcquireAndRelease.class, name));
    eventually(() -> waiters(observer, name) == 1, "the waiter is not in the queue");
    process.stop();
    try {
      // Until the store has removed the waiter, but not longer than a TTL.
      poll(renewed().ttl(), Duration.ofMillis(20), () -> waiters(observer, name) == 0);
    } finally {
      process.resume();
    }
    first.release();
    within(limit, waiter, "a waiter that was stopped was not served");
    assertFree(observer.lock(name), "the lock is not free after its last waiter was served");
  }

  @Rule("FAIR-02")
  void waitersThatDieInTheQueueKeepNobodyOut() throws Exception {
    testDeadWaiters(Kind.LOCK, Kind.LOCK);
  }

  @Rule("FAIR-02")
  @Requires(value = Capability.FIFO, absent = true)
  void waitersThatDieKeepNobodyOut() throws Exception {
    testDeadWaiters(Kind.LOCK, Kind.LOCK);
  }

  private static int waiters(LockClient observer, String name) {
    return observer.admin().inspect(name).waiters().size();
  }

  @Rule("FAIR-02")
  @Requires(value = Capability.FIFO, absent = true)
  void waitersThatLeaveDoNotKeepTheOthersFromBeingServed() throws Exception {
    WaitingQueue queue = new WaitingQueue(4);
    queue.leave(1, 2);
    queue.first.close();
    queue.awaitEnd(0);
    queue.awaitEnd(3);
    assertEquals(2, queue.served.size());
  }
}
