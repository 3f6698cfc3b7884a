package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.Lease;
import dev.interlock.LeasedLock;
import dev.interlock.LockClient;
import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Share;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import dev.interlock.tck.run.Section;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.parallel.ResourceLock;

/** RW: read-write locks. */
@SuppressWarnings("LockNotBeforeTry") // each step is checked
@Requires(Capability.READ_WRITE)
@Section("RW-")
public abstract class ReadWriteRules extends SharedRuleTest {

  @Override
  final Sharing sharing() {
    return new Sharing(LockKind.READ_WRITE, Kind.READER, Kind.WRITER);
  }

  private static DistributedLock reader(LockClient client, String name) {
    return client.readWriteLock(name).readLock();
  }

  private static DistributedLock writer(LockClient client, String name) {
    return client.readWriteLock(name).writeLock();
  }

  // --- RW-01 ---

  @Rule("RW-01")
  @Requires(value = Capability.READ_WRITE, absent = true)
  void withoutReadWriteLocksTheyAreRefused() throws Exception {
    assertNotOffered((client, name) -> client.readWriteLock(name).readLock());
    assertNotOffered((client, name) -> client.readWriteLock(name, options -> {}).writeLock());
  }

  @Rule("RW-01")
  void readersHoldTogetherAndAWriterAlone() throws Exception {
    String name = newName();
    List<LockClient> clients = List.of(client(), client(), client());
    List<Lease> readers = new ArrayList<>();
    for (LockClient client : List.of(clients.get(0), clients.get(0), clients.get(1))) {
      readers.add(acquireNow(reader(client, name), "a reader was refused beside readers"));
    }
    ReleaseOutcome released = ReleaseOutcome.RELEASED;
    for (Lease lease : readers) {
      for (LockClient client : clients) {
        assertRefused(writer(client, name), "a writer was granted beside a reader");
      }
      assertHeld(lease, "a reader's lease ended while it was held");
      released = lease.release();
    }
    Lease writer = acquireAfter(released, writer(clients.get(2), name));
    for (LockClient client : clients) {
      assertRefused(reader(client, name), "a reader was granted beside a writer");
      assertRefused(writer(client, name), "a writer was granted beside a writer");
    }
    released = writer.release();
    acquireAfter(released, reader(clients.get(0), name)).release();
  }

  /** Two numbers that are equal except while a writer changes them. */
  private static final class Halves {
    private volatile int first;
    private volatile int second;

    void write() {
      int next = first + 1;
      first = next;
      LockSupport.parkNanos(50_000); // so that others can run between the two writes
      second = next;
    }

    void assertEqual() {
      int one = first;
      LockSupport.parkNanos(50_000);
      assertTrue(one == second && one == first, "a reader saw half of a change by a writer");
    }
  }

  @Rule({"RW-01", "FENCE-07"})
  void readersOfSeveralClientsNeverSeeHalfOfAChange() throws Exception {
    String name = newName();
    Halves halves = new Halves();
    Queue<Event> history = new ConcurrentLinkedQueue<>();
    AtomicInteger writing = new AtomicInteger(3);
    int rounds = 6;
    List<Future<?>> workers = new ArrayList<>();
    for (int c = 0; c < 3; c++) {
      LockClient client = client();
      LeaseRecorder recorder = recorder("client-" + c, history);
      workers.add(
          doInThread(
              () -> {
                for (int i = 0; i < rounds; i++) {
                  recorder.holding(
                      writer(client, name), Share.UNLIMITED, Share.UNLIMITED, halves::write);
                }
                writing.decrementAndGet();
              }));
      for (int t = 0; t < 2; t++) {
        workers.add(
            doInThread(
                () -> {
                  for (int read = 0; read < rounds || writing.get() > 0; read++) {
                    recorder.holding(reader(client, name), 1, Share.UNLIMITED, halves::assertEqual);
                    sleep(Duration.ofMillis(1));
                  }
                }));
      }
    }
    allWithin(Duration.ofSeconds(100), workers, "not all threads acquired the lock");
    assertExclusive(history);
    assertEquals(3 * rounds, halves.first, "two writers held the lock at once");
  }

  // --- RW-02 ---

  @Rule("RW-02")
  void readersThatFollowEachOtherInTheQueueAreServedTogetherAndInTheirTurn() throws Exception {
    require(Capability.FIFO);
    String name = newName();
    LockClient observer = client();
    Lease first = acquireNow(writer(client(), name));
    List<Future<Lease>> waiters = new ArrayList<>();
    for (boolean reads : List.of(true, true, false, true)) {
      LockClient client = client();
      waiters.add(inThread((reads ? reader(client, name) : writer(client, name))::acquire));
      awaitQueued(observer, name, waiters.size());
    }
    first.release();
    Lease one = within(waiters.get(0), "the first reader in the queue was not served");
    Lease two = within(waiters.get(1), "a reader behind another was not served with it");
    assertHeld(one, "the first of two readers was ended by the second");
    one.release();
    assertNever(SHORT_WAIT, waiters.get(2), "a writer was granted beside a reader");
    two.release();
    Lease writer = within(waiters.get(2), "a writer was not served after the readers before it");
    assertFalse(waiters.get(3).isDone(), "a reader overtook a waiting writer");
    writer.release();
    within(waiters.get(3), "a reader was not served after the writer before it").release();
  }

  // --- RW-07 ---

  @Rule("RW-07")
  void theViewOfEachSideIsReentrant() throws Exception {
    String name = newName();
    LockClient client = client();
    LockClient observer = client();
    for (DistributedLock side : List.of(reader(client, name), writer(client, name))) {
      Lock view = side.asLock();
      testReentrancy(view, side.asLock(), writer(observer, name));
      view.lock();
      view.lock();
      LockState state = answer(() -> observer.admin().inspect(name));
      assertEquals(1, state.holders().size(), "the number of holders that the store shows");
      view.unlock();
      view.unlock();
    }
  }

  @Rule("RW-07")
  void aThreadCannotChangeSides() throws Exception {
    String name = newName();
    DistributedReadWriteLock lock = client().readWriteLock(name);
    Future<?> checks =
        doInThread(
            () -> {
              assertNoChange(lock.readLock().asLock(), lock.writeLock().asLock());
              assertNoChange(lock.writeLock().asLock(), lock.readLock().asLock());
            });
    within(bound().multipliedBy(2), checks, "a call of a thread that changes sides did not return");
    assertFree(writer(client(), name), "a refused change of sides left a hold");
  }

  private static void assertNoChange(LeasedLock held, LeasedLock other) {
    held.lock();
    try {
      String message = "a thread changed sides";
      assertThrows(IllegalStateException.class, other::lock, message);
      assertThrows(IllegalStateException.class, other::lockInterruptibly, message);
      assertThrows(IllegalStateException.class, other::tryLock, message);
      assertThrows(IllegalStateException.class, () -> other.tryLock(1, TimeUnit.SECONDS), message);
      assertThrows(IllegalMonitorStateException.class, other::unlock);
      assertEquals(Optional.empty(), other.lease(), "lease() of the other side");
      assertTrue(held.lease().isPresent(), "lease() of the side that is held is empty");
    } finally {
      held.unlock();
    }
    assertThrows(IllegalMonitorStateException.class, held::unlock);
  }

  @Rule("RW-07")
  void aViewWhoseReaderWasLostReportsIt() throws Exception {
    String name = newName();
    testLossInView(reader(client(expiring()), name).asLock(), writer(client(), name));
  }

  // --- RW-09 ---

  @Rule("RW-09")
  void anExclusiveLockIsNoReadWriteLock() throws Exception {
    testKindConflict(Kind.LOCK, Kind.READER);
    testKindConflict(Kind.LOCK, Kind.WRITER);
  }

  @Rule("RW-09")
  @ResourceLock(MANY_CLIENTS)
  void aReadWriteLockIsNoExclusiveLock() throws Exception {
    testKindConflict(Kind.READER, Kind.LOCK);
    testKindConflict(Kind.WRITER, Kind.LOCK);
    testKindConflictWithAWaiter(Kind.READER, Kind.LOCK);
  }
}
