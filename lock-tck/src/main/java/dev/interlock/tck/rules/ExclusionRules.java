package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.process.Journal;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.run.LateError;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;

/** EXCL: one lease of a name at a time, and no request for one lease affects another. */
public abstract class ExclusionRules extends RuleTest {

  // --- EXCL-01 ---

  /** A counter that is neither volatile nor atomic: only the lock protects it. */
  private static final class Counter {
    private int value;

    void increment() {
      int read = value;
      LockSupport.parkNanos(1_000); // so that others can run between the read and the write
      value = read + 1;
    }
  }

  @Rule({"EXCL-01", "FENCE-01"})
  void threadsOfSeveralClientsNeverLoseAnIncrement() throws Exception {
    String name = newName();
    Counter counter = new Counter();
    Queue<Event> history = new ConcurrentLinkedQueue<>();
    int clients = 3;
    int threadsPerClient = 3;
    int rounds = 40;
    List<Future<?>> workers = new ArrayList<>();
    for (int c = 0; c < clients; c++) {
      DistributedLock lock = client().lock(name);
      LeaseRecorder recorder = recorder("client-" + c, history);
      for (int t = 0; t < threadsPerClient; t++) {
        workers.add(
            doInThread(
                () -> {
                  for (int i = 0; i < rounds; i++) {
                    recorder.holding(lock, counter::increment);
                  }
                }));
      }
    }
    allWithin(Duration.ofSeconds(100), workers, "not all threads acquired the lock");
    assertExclusive(history);
    assertEquals(
        clients * threadsPerClient * rounds,
        counter.value,
        "increments were lost: two threads held the lock at once");
  }

  @Rule({"EXCL-01", "FENCE-01"})
  void expiringLeasesNeverOverlapWithTheirSuccessors() throws Exception {
    String name = newName();
    Queue<Event> history = new ConcurrentLinkedQueue<>();
    List<Future<?>> workers = new ArrayList<>();
    for (int c = 0; c < 3; c++) {
      DistributedLock lock = client(unrenewed()).lock(name);
      LeaseRecorder recorder = recorder("client-" + c, history);
      workers.add(
          doInThread(
              () -> {
                for (int i = 0; i < 2; i++) {
                  long requestedAt = System.nanoTime();
                  Lease lease =
                      acquireWithin(
                          timing().ttl().multipliedBy(10).plus(bound()),
                          lock,
                          "the lock was not acquired after leases that expired");
                  recorder.granted(lease, requestedAt);
                  // not released: the next acquisition has to wait for the expiry
                }
              }));
    }
    allWithin(Duration.ofMinutes(2), workers, "the leases did not expire");
    assertExclusive(history);
  }

  /** Increments a number in a file that only the lock protects. */
  static final class IncrementFile implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      String name = arguments.get(0);
      int rounds = Integer.parseInt(arguments.get(1));
      Path file = Path.of(arguments.get(2));
      boolean fenced = worker.client().backend().has(Capability.FENCING);
      String process = "process-" + ProcessHandle.current().pid();
      try (FileChannel number =
              FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
          Journal journal = Journal.create(Path.of(arguments.get(3)))) {
        LeaseRecorder recorder = new LeaseRecorder(process, fenced, journal::record);
        DistributedLock lock = worker.client().lock(name);
        for (int i = 0; i < rounds; i++) {
          recorder.holding(
              lock,
              () -> {
                ByteBuffer buffer = ByteBuffer.allocate(Long.BYTES);
                number.read(buffer, 0);
                long read = buffer.flip().getLong();
                LockSupport.parkNanos(
                    1_000); // so that others can run between the read and the write
                number.write(buffer.clear().putLong(read + 1).flip(), 0);
              });
        }
      }
      return "";
    }
  }

  @Rule({"EXCL-01", "FENCE-01"})
  void processesNeverLoseAnIncrement(@TempDir Path folder) throws Exception {
    String name = newName();
    Path number = folder.resolve("number");
    Files.write(number, new byte[Long.BYTES]);
    int processes = 3;
    int rounds = 60;
    List<OtherProcess> workers = new ArrayList<>();
    for (int p = 0; p < processes; p++) {
      workers.add(process(longLived()));
    }
    for (int p = 0; p < processes; p++) {
      workers
          .get(p)
          .order(
              IncrementFile.class,
              name,
              Integer.toString(rounds),
              number.toString(),
              folder.resolve("log-" + p).toString());
    }
    List<Event> history = new ArrayList<>();
    for (int p = 0; p < processes; p++) {
      workers.get(p).answer(Duration.ofSeconds(100));
      history.addAll(Journal.read(folder.resolve("log-" + p), List.of(Event.class)));
    }
    assertExclusive(history);
    assertEquals(
        (long) processes * rounds,
        ByteBuffer.wrap(Files.readAllBytes(number)).getLong(),
        "increments were lost: two processes held the lock at once");
  }

  // --- EXCL-02 ---

  @Rule("EXCL-02")
  void namesThatLookAlikeAreDifferentLocks() throws Exception {
    String base = newName();
    String longer = base + "x".repeat(200);
    List<String> names = new ArrayList<>();
    names.addAll(List.of(base, base.toUpperCase(Locale.ROOT), "/" + base, "{" + base + "}"));
    names.addAll(List.of(" " + base, base + " ", longer + "Aa", longer + "BB"));
    String suffixes =
        "/ // /a /a/b /A . /.. :a {a} + %20 %2F %2f * ? [a] \\"
            // characters, and how they are usually escaped
            + " \\\\ \u0000 \\0 \\u0000 %00 \n \\n ' '' \\' \u00e9 e\u0301 \u00c9 \u212b \u00c5"
            // suffixes of a backend's other entries
            + " :lock :fence :token :queue :waiters /lock /queue"
            // equal to String.hashCode()
            + " Aa BB";
    for (String suffix : suffixes.split(" ", -1)) {
      names.add(base + suffix);
    }
    assertDifferentLocks(names);
    List<String> backwards = new ArrayList<>(names);
    Collections.reverse(backwards); // in case a name gets in the way of shorter ones only
    assertDifferentLocks(backwards);
  }

  private void assertDifferentLocks(List<String> names) throws Exception {
    DistributedLock[] locks = locks(client(), names);
    DistributedLock[] others = locks(client(), names);
    List<Lease> leases = new ArrayList<>();
    leases.add(acquireNow(locks[0]));
    // The entries of a waiter must not get in the way, either.
    DistributedLock waiting = client().lock(names.get(0));
    Future<Lease> waiter = inThread(waiting::acquire);
    awaitQueued(client(), names.get(0), 1);
    for (DistributedLock lock : List.of(locks).subList(1, locks.length)) {
      leases.add(acquireNow(lock, "\"" + lock.name() + "\" is taken for another name"));
    }
    for (DistributedLock other : others) {
      assertRefused(other, "\"" + other.name() + "\" was acquired by two clients");
    }
    leases.forEach(Lease::release);
    within(waiter, "a waiter was not served").release();
  }

  private static DistributedLock[] locks(LockClient client, List<String> names) {
    return names.stream().map(client::lock).toArray(DistributedLock[]::new);
  }

  /** Returns, for each page of Unicode, a hash of this JVM's properties of its characters. */
  static final class UnicodePages implements RemoteTask {
    static final int SIZE = 128;

    static List<String> hashes() {
      List<String> hashes = new ArrayList<>();
      for (int page = 0; page <= Character.MAX_CODE_POINT; page += SIZE) {
        int hash = 0;
        for (int c = page; c < page + SIZE; c++) {
          hash = 31 * hash + Character.getType(c);
          hash = 31 * hash + Character.toLowerCase(c);
          hash = 31 * hash + Character.toUpperCase(c);
        }
        hashes.add(Integer.toHexString(hash));
      }
      return hashes;
    }

    @Override
    public String run(Worker worker, List<String> arguments) {
      return String.join(" ", hashes());
    }
  }

  /**
   * Tries to acquire each of the names, and returns the indexes of those granted. In a JVM that has
   * just started on a busy machine a request may time out, so it is repeated.
   */
  static final class TryEach implements RemoteTask {
    private static final Duration RETRY_TIMEOUT = Duration.ofSeconds(30);

    @Override
    public String run(Worker worker, List<String> names) throws Exception {
      List<String> granted = new ArrayList<>();
      for (int i = 0; i < names.size(); i++) {
        String name = names.get(i);
        Optional<Lease> lease =
            answer(RETRY_TIMEOUT, () -> worker.client().lock(name).tryAcquire());
        if (lease.isPresent()) {
          lease.get().release();
          granted.add(Integer.toString(i));
        }
      }
      return String.join(" ", granted);
    }
  }

  /** Lists the held locks with a prefix, in the order of their names. */
  static final class ListNames implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      String prefix = arguments.get(0);
      return answer(
          TryEach.RETRY_TIMEOUT,
          () ->
              worker
                  .client()
                  .admin()
                  .list(prefix)
                  .map(LockState::name)
                  .sorted()
                  .collect(Collectors.joining("\n")));
    }
  }

  @Rule("EXCL-02")
  @ResourceLock(STORE_ENTRIES)
  void aNameIsTheSameLockInAJvmOfAnotherVersionAndLocale() throws Exception {
    OtherProcess foreign = foreignProcess(longLived());
    String base = newName();
    List<String> names = new ArrayList<>();
    names.add(base + "TITLE title \u0130\u0131 \u00c9\u00e9 \ud83d\udd12 42 \u0664\u0662");
    String theirs = foreign.call(OTHER_JVM_TIMEOUT, UnicodePages.class);
    List<String> ours = UnicodePages.hashes();
    int page = 0;
    for (String hash : theirs.split(" ", -1)) {
      if (!hash.equals(ours.get(page))) {
        StringBuilder name = new StringBuilder(base);
        int first = page * UnicodePages.SIZE;
        for (int c = first; c < first + UnicodePages.SIZE; c++) {
          name.appendCodePoint(c);
        }
        names.add(name.toString());
      }
      page++;
    }

    LockClient client = client();
    List<Lease> leases = new ArrayList<>();
    for (String name : names) {
      leases.add(acquireNow(client.lock(name)));
    }
    String granted = foreign.call(OTHER_JVM_TIMEOUT, TryEach.class, names.toArray(String[]::new));
    for (String index : granted.isEmpty() ? new String[0] : granted.split(" ", -1)) {
      String name = names.get(Integer.parseInt(index));
      fail(
          String.format(
              Locale.ROOT,
              "a JVM of another version or locale acquired a held lock, whose name has the"
                  + " characters from U+%04X on",
              name.codePointAt(base.length())));
    }
    if (has(Capability.LIST)) {
      assertEquals(
          names.stream().sorted().collect(Collectors.joining("\n")),
          foreign.call(OTHER_JVM_TIMEOUT, ListNames.class, base),
          "the held locks that a JVM of another version or locale lists");
    }
    leases.forEach(Lease::release);
    assertEquals(
        names.size(),
        foreign
            .call(OTHER_JVM_TIMEOUT, TryEach.class, names.toArray(String[]::new))
            .split(" ")
            .length,
        "free locks that a JVM of another version or locale acquired and released");
    for (String name : names) {
      acquireNow(client.lock(name)).release();
    }
  }

  // --- EXCL-03 ---

  @Rule("EXCL-03")
  void aLeaseThatWasTakenAwayCannotTouchItsSuccessor() throws Exception {
    String name = newName();
    LockClient former = client();
    Lease stale = acquireNow(former.lock(name));
    takeAway(name);
    Lease successor = acquireNow(client().lock(name));

    assertNotEquals(
        ReleaseOutcome.RELEASED, stale.release(), "the store confirmed a stale release");
    stale.close();
    try {
      stale.renew();
      fail("a lease that was taken away was renewed");
    } catch (LeaseLostException | IllegalStateException e) {
      // both are correct: which one depends on whether the release learned of the loss
    }
    assertUntouched(name, successor);
  }

  @Rule("EXCL-03")
  void aStaleRenewalCannotTouchTheSuccessor() throws Exception {
    String name = newName();
    Lease stale = acquireNow(client().lock(name));
    takeAway(name);
    Lease successor = acquireNow(client().lock(name));
    try {
      renewNow(stale, bound());
      fail("a lease that was taken away was renewed");
    } catch (LeaseLostException e) {
      assertFalse(stale.isHeld());
    }
    assertUntouched(name, successor);
  }

  @Rule("EXCL-03")
  void anExpiredLeaseCannotTouchItsSuccessor() throws Exception {
    String name = newName();
    Lease stale = acquireNow(client(unrenewed()).lock(name));
    Lease successor =
        acquireWithin(maxLifetime(stale), client().lock(name), "the lease did not expire");
    stale.release();
    stale.close();
    assertUntouched(name, successor);
  }

  @Rule("EXCL-03")
  void aReleaseOvertakenByItsTtlCannotTouchTheSuccessor() throws Exception {
    testOvertakenByTtl(Lease::release);
  }

  @Rule("EXCL-03")
  void aRenewalOvertakenByItsTtlCannotTouchTheSuccessor() throws Exception {
    testOvertakenByTtl(
        lease ->
            emptyOn( // if the renewal comes too late
                LockException.class,
                () -> {
                  lease.renew();
                  return true;
                }));
  }

  private void testOvertakenByTtl(Action<Lease> call) throws Exception {
    // On a busy machine the lease may end before the request is sent.
    assumeTestable(
        anyOfThree(isLast -> isOvertakenByTtl(call)),
        "no request was in flight when its lease ended");
  }

  /** {@return whether the request was in flight when its lease ended} */
  private boolean isOvertakenByTtl(Action<Lease> call) throws Exception {
    String name = newName();
    Network network = network();
    Duration remaining = Duration.ofMillis(500);
    Lease stale = acquireNow(client(network, unrenewed()).lock(name));
    eventually(
        maxLifetime(stale),
        () -> stale.remainingValidity().compareTo(remaining) < 0,
        "the lease did not approach its end");
    Lease successor;
    boolean overtaken;
    // A backend that reads the owner and then acts gets the owner only after the expiry.
    try (Disturbance delay = network.delay(Direction.SERVER_TO_CLIENT, remaining.multipliedBy(3))) {
      Future<?> late = doInThread(() -> call.on(stale));
      successor =
          acquireWithin(
              maxLifetime(stale),
              client().lock(name),
              "the store did not free the lock of a lease that has expired");
      // A client may abort a renewal when its lease ends.
      overtaken = delay.hits() > 0 && (!late.isDone() || stale.onLoss().isDone());
      within(bound().multipliedBy(2), late, "a call that was overtaken by the TTL did not return");
    }
    // A renewal may have given the successor the TTL of the stale lease.
    assertNever(stale.effectiveTtl(), successor.onLoss(), "the successor's lease was lost");
    assertUntouched(name, successor);
    return overtaken;
  }

  @Rule({"EXCL-03", "EXCL-01"})
  void clientsWithTheSameLabelAreDifferentHolders() throws Exception {
    String name = newName();
    LockClient first = labelled("the same label");
    LockClient second = labelled("the same label");
    Lease stale = acquireNow(first.lock(name));
    assertRefused(second.lock(name), "a client with the holder's label acquired the lock");
    takeAway(name);
    Lease successor = acquireNow(second.lock(name));
    assertThrows(
        LeaseLostException.class,
        () -> renewNow(stale, bound()),
        "a lease was renewed although the lock is held by a client with the same label");
    assertNotEquals(
        ReleaseOutcome.RELEASED, stale.release(), "the store confirmed a stale release");
    first.close();
    assertUntouched(name, successor);
  }

  @Rule("EXCL-03")
  void aSecondReleaseCannotTouchTheSuccessor() throws Exception {
    String name = newName();
    LockClient former = client();
    Lease released = acquireNow(former.lock(name));
    Lease successor = acquireAfter(released.release(), client().lock(name));
    released.release();
    released.close();
    assertUntouched(name, successor);

    // a successor in the same client
    Lease own = acquireAfter(successor.release(), former.lock(name));
    released.release();
    released.close();
    assertUntouched(name, own);
  }

  /** Checks that the lease still holds the lock, here and on the store. */
  private void assertUntouched(String name, Lease lease) throws InterruptedException {
    assertHeld(lease, "the successor's lease was lost");
    assertRefused(client().lock(name), "the successor's lock was freed");
    renewIfOffered(lease, bound());
    assertReleased(lease, "the store no longer held the successor's lock");
  }

  // --- EXCL-04, EXCL-05 ---

  @Rule("EXCL-04")
  void aGrantThatArrivesAfterItsTtlDoesNotCount() throws Exception {
    String name = newName();
    Network network = network();
    Duration ttl = timing().ttl();
    Duration latency = ttl.multipliedBy(2);
    LockClient slow =
        client(
            network,
            options(ttl, false).toBuilder().requestTimeout(latency.multipliedBy(4)).build());
    DistributedLock lock = slow.lock(name);
    // Connecting and loading classes may take longer than the TTL on a busy machine.
    assertFree(slow.lock(newName(), renewed(timing().longTtl())), "a free lock was not acquired");
    try (Disturbance delay = network.delay(Direction.SERVER_TO_CLIENT, latency)) {
      Optional<Optional<Lease>> late =
          emptyOn(LockUnavailableException.class, lock::tryAcquire); // a correct outcome
      assertStruck(delay);
      late.flatMap(lease -> lease)
          .ifPresent(
              lease ->
                  assertTrue(
                      lease.effectiveTtl().compareTo(latency) > 0,
                      "a lease is valid although its grant took longer than its TTL"));
    }
    acquireWithin(ttl.plus(bound()), client().lock(name), "the late grant was not undone");
  }

  @Rule("EXCL-05")
  void aLostAnswerLeavesNoSecondHolderAndNoOrphan() throws Exception {
    String name = newName();
    Network network = network();
    LockClient unlucky = client(network, unrenewed());
    DistributedLock lock = unlucky.lock(name);
    acquireNow(unlucky.lock(newName())).release();
    Queue<Event> history = new ConcurrentLinkedQueue<>();
    LeaseRecorder recorder = recorder("test", history);

    Future<Optional<Lease>> attempt;
    try (Disturbance lost = network.everywhere(proxy -> proxy.loseReplies(name))) {
      attempt =
          inThread(
              () -> {
                long requestedAt = System.nanoTime();
                Optional<Lease> acquired = lock.tryAcquire(timing().ttl().plus(bound()));
                acquired.ifPresent(lease -> recorder.granted(lease, requestedAt));
                return acquired;
              });
      assertAnswerLost(lost);
    } // resets the connection, so that the client may try again
    DistributedLock other = client(unrenewed()).lock(name);
    for (int i = 0; i < 2; i++) {
      long requestedAt = System.nanoTime();
      Lease lease =
          acquireWithin(
              timing().ttl().multipliedBy(2).plus(bound()),
              other,
              "an orphaned grant did not expire");
      recorder.granted(lease, requestedAt);
    }
    emptyOn( // the time-out may pass before the store answers again
        LockUnavailableException.class,
        () ->
            within(
                timing().ttl().plus(bound().multipliedBy(2)), attempt, "the attempt did not end"));
    assertExclusive(history);
  }

  @Rule({"EXCL-05", "LEASE-03"})
  void aGrantToAWaiterCountsFromItsFirstAnswerEvenIfThatWasLost() throws Exception {
    String name = newName();
    LockClient other = client();
    Lease blocker = acquireNow(other.lock(name));
    Network network = network();
    Future<Lease> waiter = inThread(client(network, unrenewed()).lock(name)::acquire);
    awaitQueued(other, name, 1);
    assertNever(SHORT_WAIT, waiter, "a held lock was acquired");
    try (Disturbance lost = network.everywhere(proxy -> proxy.loseReplies(name))) {
      blocker.release();
      assertAnswerLost(lost);
      sleep(unrenewed().ttl().dividedBy(2)); // the grant grows old
    }
    Duration limit = unrenewed().ttl().plus(bound()).multipliedBy(2);
    Lease lease = within(limit, waiter, "a waiter whose answer was lost was not served");
    Lease next = acquireAtOnce(limit, other.lock(name), "the lease did not expire");
    assertFalse(
        lease.isHeld(),
        "two leases were valid at once: the answer to a grant was lost, and the repeated request"
            + " was answered as if the grant were new");
    next.release();
  }

  @Rule("EXCL-05")
  void aClientThatVanishesWithALostAnswerLeavesNoOrphan() throws Exception {
    testLostClient(Kind.LOCK, Kind.LOCK);
  }

  @Rule("EXCL-05")
  void aClientThatReachesTheStoreAgainFreesItsOrphan() throws Exception {
    testLostAnswer(Kind.LOCK, Kind.LOCK);
  }

  // --- EXCL-06, EXCL-07 ---

  @Rule("EXCL-06")
  void theThreadThatHoldsTheLockCannotAcquireItAgain() throws Exception {
    DistributedLock lock = client().lock(newName());
    Lease lease = acquireNow(lock);
    assertRefused(lock, "tryAcquire() was reentrant");
    assertTrue(
        answer(() -> lock.tryAcquire(Duration.ofMillis(100))).isEmpty(),
        "tryAcquire(d) was reentrant");
    CompletableFuture<Lease> later = lock.acquireAsync();
    assertNever(Duration.ofMillis(100), later, "acquireAsync() was reentrant");
    lease.release();
    within(later, "the second acquisition was not served after the release").release();
  }

  @Rule("EXCL-06")
  void acquireOnTheHoldersThreadWaitsForARelease() throws Exception {
    DistributedLock lock = client().lock(newName());
    CompletableFuture<Lease> first = new CompletableFuture<>();
    Future<Boolean> holdersThread =
        inThread(
            () -> {
              first.complete(lock.acquire());
              Lease second = lock.acquire();
              boolean stillHeld = first.join().isHeld();
              second.release();
              return stillHeld;
            });
    Lease lease = within(first, "the lock was not acquired");
    assertNever(Duration.ofMillis(100), holdersThread, "acquire() was reentrant");
    lease.release();
    assertFalse(within(holdersThread, "the second acquire did not end"), "acquire() was reentrant");
  }

  @Rule("EXCL-07")
  void aLeaseWorksOnEveryThread() throws Exception {
    String name = newName();
    LockClient client = client();
    Lease lease = within(inThread(() -> client.lock(name).acquire()), "the lock was not acquired");
    for (int i = 0; i < 3; i++) {
      within(
          doInThread(
              () -> {
                assertTrue(lease.isHeld());
                lease.ensureHeld();
                renewNow(lease, bound());
              }),
          "the lease was not renewed");
    }
    assertRefused(client().lock(name), "the lock was free after a change of threads");
    assertNotEquals(
        ReleaseOutcome.ALREADY_LOST,
        within(inThread(lease::release), "the release did not return"),
        "a release from another thread was not effective");
    assertFree(client().lock(name), "a release from another thread was not effective");
  }

  @Rule("EXCL-05")
  @Requires(value = Capability.FIFO, absent = true)
  void aRequestThatArrivesAfterItsReleaseIsUndone() throws Exception {
    String name = newName();
    Network network = network();
    LockClient client = client(network, longLived());
    acquireNow(client.lock(newName())).release();
    long ended;
    try (Disturbance held =
        network.everywhere(proxy -> proxy.holdOpenConnections(Direction.CLIENT_TO_SERVER))) {
      Optional<Optional<Lease>> outcome =
          emptyOn(LockUnavailableException.class, client.lock(name)::tryAcquire);
      ended = System.nanoTime();
      assertStruck(held);
      outcome.flatMap(lease -> lease).ifPresent(Lease::release); // used another connection in time
      sleep(SHORT_WAIT); // the release arrives
    } // now the request arrives
    if (since(ended).compareTo(longLived().requestTimeout().dividedBy(2)) > 0) {
      throw new LateError("the request arrived so late that its client no longer expects it");
    }
    sleep(SHORT_WAIT);
    assertFree(
        bound().multipliedBy(2),
        client().lock(name),
        "a request that arrived after its release was not undone by its client");
  }

  // --- EXCL-08 ---

  @Rule("EXCL-08")
  void aDelayedReleaseCannotTouchTheClientsNextLease() throws Exception {
    String name = newName();
    Network network = network();
    LockClient client = client(network, longLived());
    DistributedLock lock = client.lock(name);
    Lease first = acquireNow(lock);
    Lease second;
    try (Disturbance held =
        network.everywhere(proxy -> proxy.holdOpenConnections(Direction.CLIENT_TO_SERVER))) {
      ReleaseOutcome outcome = first.release();
      assertStruck(held);
      // RELEASED is correct, too: the client used another connection in time.
      assertNotEquals(
          ReleaseOutcome.ALREADY_LOST, outcome, "the outcome of releasing a held lease");
      LockClient other = client();
      answer(() -> other.admin().forceRelease(name)); // in case no release arrived
      second = acquireWithin(maxLifetime(first), lock, "the client did not acquire the lock again");
    } // now the old release arrives
    assertNever(Duration.ofMillis(500), second.onLoss(), "the client's next lease was lost");
    assertUntouched(name, second);
  }

  @Rule("EXCL-08")
  void lateRequestsOfAWaitDoNothing() throws Exception {
    List<Future<?>> waits = new ArrayList<>();
    for (LateRequests late : LateRequests.values()) {
      waits.add(doInThread(() -> testLateWait(late)));
    }
    allWithin(bound().multipliedBy(12), waits, "waits whose requests were delayed did not end");
  }

  /** The last requests of an abandoned wait, which arrive late. */
  private enum LateRequests {
    /** A poll and the release, during the client's next wait. */
    POLL_AND_RELEASE,
    /** The release, during the client's next wait. */
    RELEASE,
    /** The release, during the client's next lease. */
    RELEASE_DURING_LEASE
  }

  /**
   * Abandons a wait, holds back its last requests, and delivers them during the client's next wait
   * or lease. If the client has a single connection, nothing of the next one can come before them.
   */
  private void testLateWait(LateRequests late) throws Exception {
    String name = newName();
    LockClient other = client();
    Lease blocker = acquireNow(other.lock(name));
    Network network = network();
    DistributedLock lock = client(network, longLived()).lock(name);
    CompletableFuture<Lease> abandoned = lock.acquireAsync();
    awaitQueued(other, name, 1);
    assertNever(SHORT_WAIT, abandoned, "a held lock was acquired");
    boolean mustComeFirst;
    CompletableFuture<Lease> next;
    Future<?> last;
    try (Disturbance held =
        network.everywhere(proxy -> proxy.holdOpenConnections(Direction.CLIENT_TO_SERVER))) {
      if (late == LateRequests.POLL_AND_RELEASE) {
        boolean unused = held.awaitHit(bound());
      }
      assertTrue(abandoned.cancel(true), "a held lock was acquired");
      boolean hasLeft =
          poll(bound(), SHORT_WAIT, () -> other.admin().inspect(name).waiters().isEmpty());
      next = lock.acquireAsync();
      if (hasLeft) {
        awaitQueued(other, name, 1);
      }
      if (late == LateRequests.RELEASE_DURING_LEASE) {
        blocker.release();
        boolean unused = poll(bound(), SHORT_WAIT, next::isDone);
      }
      mustComeFirst =
          next.isDone() ? !next.isCompletedExceptionally() : hasLeft && has(Capability.FIFO);
      DistributedLock lastLock = client().lock(name);
      last = inThread(() -> lastLock.acquire().release());
      awaitQueued(other, name, 1);
      boolean unused =
          poll(
              bound(),
              SHORT_WAIT,
              () -> next.isDone() || other.admin().inspect(name).waiters().size() >= 2);
    } // now the old requests arrive
    sleep(SHORT_WAIT);
    blocker.release();
    Lease lease = within(next, "a wait was not served after late requests of an earlier one");
    if (mustComeFirst) {
      assertNever(
          SHORT_WAIT, last, "late requests of a wait cost the client its next place or lease");
    }
    assertReleased(lease, "late requests of a wait cost the client its next place or lease");
    within(last, "a waiter was not served");
    assertFree(other.lock(name), "late requests of a wait left a place or a hold");
  }

  @Rule("EXCL-08")
  void abandonedAttemptsNeverTouchTheClientsNextLease() throws Exception {
    String name = newName();
    DistributedLock lock = client().lock(name);
    for (int i = 0; i < 60; i++) {
      CompletableFuture<Lease> abandoned = lock.acquireAsync();
      if (i % 3 > 0) {
        TimeUnit.MICROSECONDS.sleep(ThreadLocalRandom.current().nextInt(i % 3 == 1 ? 200 : 2_000));
      }
      if (!abandoned.cancel(true)) {
        abandoned.join().release(); // the grant came first
      }
      Lease lease = acquireWithin(lock, "an attempt that was cancelled still holds the lock");
      if (i % 10 == 0) {
        renewNow(lease, bound());
        assertNever(
            Duration.ofMillis(50), lease.onLoss(), "undoing an attempt ended another lease");
      }
      int round = i;
      assertAll(
          () -> assertHeld(lease, "the lease was lost in round " + round),
          () ->
              assertReleased(
                  lease, "undoing a cancelled attempt ended another lease, in round " + round));
    }
  }
}
