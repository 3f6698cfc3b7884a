package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockKind;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Share;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.run.NotApplicableException;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** RW: read-write locks. */
@SuppressWarnings("LockNotBeforeTry") // each step is looked at
public abstract class ReadWriteRules extends SharedRuleTest {

  @Override
  final Sharing sharing() {
    return new Sharing(
        LockKind.READ_WRITE, ReadWriteRules::reader, ReadWriteRules::writer, TakeReadLock.class);
  }

  private static DistributedLock reader(LockClient client, String name) {
    return client.readWriteLock(name).readLock();
  }

  private static DistributedLock writer(LockClient client, String name) {
    return client.readWriteLock(name).writeLock();
  }

  /** Acquires a read lock, and keeps it. */
  static final class TakeReadLock extends TakeSome {
    @Override
    Acquirable<Lease> some(LockClient client, String name) {
      return reader(client, name);
    }
  }

  // --- RW-01 ---

  @Test
  @Rule("RW-01")
  @Requires(value = Capability.READ_WRITE, absent = true)
  void withoutReadWriteLocksTheyAreRefused() throws Exception {
    assertNotOffered((client, name) -> client.readWriteLock(name).readLock());
    assertNotOffered((client, name) -> client.readWriteLock(name, options -> {}).writeLock());
  }

  @Test
  @Rule("RW-01")
  @Requires(Capability.READ_WRITE)
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
      assertTrue(lease.isHeld(), "a reader's lease ended");
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
      LockSupport.parkNanos(50_000); // lets others run between the two
      second = next;
    }

    boolean areEqual() {
      int one = first;
      LockSupport.parkNanos(50_000);
      return one == second && one == first;
    }
  }

  @Test
  @Rule({"RW-01", "FENCE-07"})
  @Requires(Capability.READ_WRITE)
  void readersOfSeveralClientsNeverSeeHalfOfAChange() throws Exception {
    String name = newName();
    Halves halves = new Halves();
    Queue<Event> history = new ConcurrentLinkedQueue<>();
    AtomicInteger writing = new AtomicInteger(3);
    int rounds = 6;
    List<Future<?>> workers = new ArrayList<>();
    for (int c = 0; c < 3; c++) {
      LockClient client = client();
      LeaseRecorder recorder =
          new LeaseRecorder("client-" + c, has(Capability.FENCING), history::add);
      workers.add(
          inThread(
              () -> {
                for (int i = 0; i < rounds; i++) {
                  long requestedAt = System.nanoTime();
                  try (Lease lease = writer(client, name).acquire()) {
                    LeaseRecorder.Recorded recorded =
                        recorder.granted(lease, requestedAt, Share.UNLIMITED, Share.UNLIMITED);
                    halves.write();
                    recorded.ends();
                  }
                }
                writing.decrementAndGet();
                return null;
              }));
      for (int t = 0; t < 2; t++) {
        workers.add(
            inThread(
                () -> {
                  int read = 0;
                  while (read < rounds || writing.get() > 0) {
                    long requestedAt = System.nanoTime();
                    try (Lease lease = reader(client, name).acquire()) {
                      LeaseRecorder.Recorded recorded =
                          recorder.granted(lease, requestedAt, 1, Share.UNLIMITED);
                      assertTrue(halves.areEqual(), "a reader saw half of what a writer changed");
                      recorded.ends();
                    }
                    read++;
                    letPass(Duration.ofMillis(1));
                  }
                  return null;
                }));
      }
    }
    for (Future<?> worker : workers) {
      within(Duration.ofSeconds(100), worker, "not all threads acquired the lock");
    }
    assertExclusive(history);
    assertEquals(3 * rounds, halves.first, "two writers held the lock at once");
  }

  // --- RW-02 ---

  @Test
  @Rule("RW-02")
  @Requires(Capability.READ_WRITE)
  void nobodyOvertakesAWriterThatWaitsInTheQueue() throws Exception {
    requireQueue();
    String name = newName();
    LockClient observer = client();
    LockClient reading = client();
    Lease first = acquireNow(reader(reading, name));
    Future<Lease> writer = inThread(writer(client(), name)::acquire);
    awaitQueued(observer, name, 1);
    assertRefused(reader(reading, name), "a reader overtook a waiting writer");
    assertRefused(reader(observer, name), "a reader overtook a waiting writer");
    Future<Lease> reader = inThread(reader(client(), name)::acquire);
    awaitQueued(observer, name, 2);
    never(MOMENT, reader, "a reader overtook a waiting writer");
    first.release();
    Lease written = within(writer, "a writer was not served after the readers before it");
    assertFalse(reader.isDone(), "a reader was granted beside a writer");
    written.release();
    within(reader, "a reader was not served after the writer before it").release();
  }

  @Test
  @Rule("RW-02")
  @Requires(Capability.READ_WRITE)
  void readersThatFollowEachOtherInTheQueueAreServedTogetherAndInTheirTurn() throws Exception {
    requireQueue();
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
    assertTrue(one.isHeld(), "the first of two readers was ended by the second");
    one.release();
    never(MOMENT, waiters.get(2), "a writer was granted beside a reader");
    two.release();
    Lease writer = within(waiters.get(2), "a writer was not served after the readers before it");
    assertFalse(waiters.get(3).isDone(), "a reader overtook a waiting writer");
    writer.release();
    within(waiters.get(3), "a reader was not served after the writer before it").release();
  }

  private void requireQueue() {
    if (!has(Capability.FIFO)) {
      throw new NotApplicableException(info().name() + " does not declare FIFO");
    }
  }

  @Test
  @Rule("RW-02")
  @Requires(Capability.READ_WRITE)
  void aWriterIsServedWhileReadersComeAndGo() throws Exception {
    String name = newName();
    List<Acquirable<Lease>> busy = new ArrayList<>();
    for (int c = 0; c < 3; c++) {
      busy.add(reader(client(renewed()), name));
    }
    testStarvation(
        busy, Duration.ofMillis(100), writer(client(renewed()), name), "readers starved a writer");
  }

  @Test
  @Rule("RW-02")
  @Requires(Capability.READ_WRITE)
  void aReaderIsServedWhileWritersComeAndGo() throws Exception {
    String name = newName();
    List<Acquirable<Lease>> busy = new ArrayList<>();
    for (int c = 0; c < 3; c++) {
      busy.add(writer(client(renewed()), name));
    }
    testStarvation(
        busy, Duration.ofMillis(20), reader(client(renewed()), name), "writers starved a reader");
  }

  // --- RW-03, RW-04 ---

  @Test
  @Rule("RW-03")
  @Requires(Capability.READ_WRITE)
  void aReaderThatExpiresDoesNotShortenAnEarlierOne() throws Exception {
    testExpiryOfOne(false);
  }

  @Test
  @Rule("RW-03")
  @Requires(Capability.READ_WRITE)
  void aReaderThatIsRenewedDoesNotLengthenAnEarlierOne() throws Exception {
    testExpiryOfOne(true);
  }

  @Test
  @Rule("RW-03")
  @Requires(Capability.READ_WRITE)
  void aReaderWhoseProcessIsKilledGivesWay() throws Exception {
    testKilledHolder();
  }

  @Test
  @Rule("RW-04")
  @Requires(Capability.READ_WRITE)
  void aReadersReleaseEndsNoOtherReader() throws Exception {
    testReleaseOfOne();
  }

  @Test
  @Rule("RW-04")
  @Requires(Capability.READ_WRITE)
  void anEndedReaderCannotTouchTheNextWriter() throws Exception {
    testEndedHold();
  }

  // --- RW-05 ---

  @Test
  @Rule("RW-05")
  @Requires(Capability.READ_WRITE)
  void aLostAnswerToAReaderIsUndone() throws Exception {
    testLostAnswer(ReadWriteRules::reader);
  }

  @Test
  @Rule("RW-05")
  @Requires(Capability.READ_WRITE)
  void aLostAnswerToAWriterIsUndone() throws Exception {
    testLostAnswer(ReadWriteRules::writer);
  }

  @Test
  @Rule("RW-05")
  @Requires(Capability.READ_WRITE)
  void aReaderThatVanishesWithALostAnswerLeavesNoOrphan() throws Exception {
    testLostClient(ReadWriteRules::reader);
  }

  @Test
  @Rule("RW-05")
  @Requires(Capability.READ_WRITE)
  void aWriterThatVanishesWithALostAnswerLeavesNoOrphan() throws Exception {
    testLostClient(ReadWriteRules::writer);
  }

  @Test
  @Rule("RW-05")
  @Requires(Capability.READ_WRITE)
  void readersAndWritersThatGiveUpLeaveNothingBehind() throws Exception {
    testWaitersThatLeave();
  }

  @Test
  @Rule("RW-05")
  @Requires(Capability.READ_WRITE)
  void aReaderBehindAWriterThatLeavesIsServed() throws Exception {
    testWaiterBehindOneThatLeaves();
  }

  // --- RW-06 ---

  @Test
  @Rule("RW-06")
  @Requires(Capability.READ_WRITE)
  void everyReaderIsToldThatTheLockWasTakenAway() throws Exception {
    testLossOfAll();
  }

  @Test
  @Rule("RW-06")
  @Requires(Capability.READ_WRITE)
  void theEndOfAReaderIsReportedToNoOther() throws Exception {
    testLossOfOne();
  }

  @Test
  @Rule("RW-06")
  @Requires(Capability.READ_WRITE)
  void aReaderThatIsCutOffHasEndedBeforeTheNextWriterBegins() throws Exception {
    testHolderThatIsCutOff();
  }

  // --- RW-07 ---

  @Test
  @Rule("RW-07")
  @Requires(Capability.READ_WRITE)
  void theViewOfEachSideIsReentrant() throws Exception {
    String name = newName();
    LockClient client = client();
    LockClient observer = client();
    for (boolean reads : List.of(true, false)) {
      Lock one = (reads ? reader(client, name) : writer(client, name)).asLock();
      Lock two = (reads ? reader(client, name) : writer(client, name)).asLock();
      one.lock();
      assertTrue(two.tryLock(), "a nested tryLock through another view failed");
      two.lockInterruptibly();
      assertTrue(one.tryLock(1, TimeUnit.SECONDS));
      assertEquals(
          1, answer(() -> observer.inspect(name)).holders().size(), "the holds on the store");
      for (int i = 0; i < 3; i++) {
        one.unlock();
        assertRefused(writer(observer, name), "the lock was free before the last unlock");
      }
      two.unlock();
      assertThrows(IllegalMonitorStateException.class, one::unlock);
      acquireWithin(writer(observer, name), "not free after the last unlock").release();
    }
  }

  @Test
  @Rule("RW-07")
  @Requires(Capability.READ_WRITE)
  void aThreadCannotChangeSides() throws Exception {
    String name = newName();
    DistributedReadWriteLock lock = client().readWriteLock(name);
    Future<?> checks =
        inThread(
            () -> {
              assertNoChange(lock.readLock().asLock(), lock.writeLock().asLock());
              assertNoChange(lock.writeLock().asLock(), lock.readLock().asLock());
              return null;
            });
    within(bound().multipliedBy(2), checks, "a thread waits for itself");
    acquireWithin(writer(client(), name), "a refused change of sides left a hold").release();
  }

  private static void assertNoChange(Lock held, Lock other) {
    held.lock();
    try {
      String otherwise = "a thread changed sides";
      assertThrows(IllegalStateException.class, other::lock, otherwise);
      assertThrows(IllegalStateException.class, other::lockInterruptibly, otherwise);
      assertThrows(IllegalStateException.class, other::tryLock, otherwise);
      assertThrows(
          IllegalStateException.class, () -> other.tryLock(1, TimeUnit.SECONDS), otherwise);
      assertThrows(IllegalMonitorStateException.class, other::unlock);
    } finally {
      held.unlock();
    }
    assertThrows(IllegalMonitorStateException.class, held::unlock);
  }

  @Test
  @Rule("RW-07")
  @Requires(Capability.READ_WRITE)
  void aViewWhoseReaderWasLostReportsIt() throws Exception {
    String name = newName();
    Lock view = reader(client(passing()), name).asLock();
    Future<?> checks =
        inThread(
            () -> {
              view.lock();
              acquireWithin(
                      passing().ttl().plus(info().minTtl()).plus(bound()),
                      writer(client(), name),
                      "a hold did not expire")
                  .release();
              assertThrows(LeaseLostException.class, view::lock);
              assertThrows(LeaseLostException.class, view::unlock);
              assertThrows(IllegalMonitorStateException.class, view::unlock);
              view.lock();
              view.unlock();
              return null;
            });
    within(timing().longTtl(), checks, "the calls did not end");
  }

  // --- RW-08 ---

  @Test
  @Rule("RW-08")
  @Requires(Capability.READ_WRITE)
  void everyReaderIsShown() throws Exception {
    testInspection();
  }

  @Test
  @Rule("RW-08")
  @Requires(Capability.READ_WRITE)
  void aForcedReleaseEndsAllReaders() throws Exception {
    testForcedRelease();
  }

  @Test
  @Rule("RW-08")
  @Requires(Capability.READ_WRITE)
  void aRevocationEndsAllReadersAndKeepsExclusion() throws Exception {
    testRevocation();
  }

  // --- RW-09 ---

  @Test
  @Rule("RW-09")
  @Requires(Capability.READ_WRITE)
  void anExclusiveLockIsNoReadWriteLock() throws Exception {
    testDisagreement(LockClient::lock, ReadWriteRules::reader);
    testDisagreement(LockClient::lock, ReadWriteRules::writer);
  }

  @Test
  @Rule("RW-09")
  @Requires(Capability.READ_WRITE)
  void aReadWriteLockIsNoExclusiveLock() throws Exception {
    testDisagreement(ReadWriteRules::reader, LockClient::lock);
    testDisagreement(ReadWriteRules::writer, LockClient::lock);
    testDisagreementWithAWaiter(ReadWriteRules::reader, LockClient::lock);
  }
}
