package dev.interlock.tck.rules;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Fault;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.Server;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;

/** FENCE: the later lease has the higher token. */
@Requires(Capability.FENCING)
public abstract class FencingRules extends RuleTest {

  private static void assertHigher(long later, long earlier, String when) {
    assertTrue(
        later > earlier, () -> "the token went from " + earlier + " to " + later + " " + when);
  }

  // --- FENCE-01 ---

  @Rule("FENCE-01")
  void tokensRiseFromClientToClient() throws Exception {
    String name = newName();
    List<DistributedLock> locks =
        List.of(client().lock(name), client().lock(name), client().lock(name));
    long last = 0;
    ReleaseOutcome released = ReleaseOutcome.RELEASED;
    for (int i = 0; i < 12; i++) {
      Lease lease = acquireAfter(released, locks.get(i % locks.size()));
      assertHigher(lease.fencingToken(), last, "from one client to the next");
      last = lease.fencingToken();
      released = lease.release();
    }
    // another client with a lease that expires, and a new client
    Lease unrenewed = acquireAfter(released, client(unrenewed()).lock(name));
    assertHigher(unrenewed.fencingToken(), last, "with other options");
    Lease next =
        acquireWithin(maxLifetime(unrenewed), client().lock(name), "the lease did not end");
    assertHigher(next.fencingToken(), unrenewed.fencingToken(), "after a lease that ran out");
    next.release();
  }

  @Rule("FENCE-01")
  void tokensRiseAcrossHandoffsWithinAClient() throws Exception {
    String name = newName();
    LockClient client = client();
    Queue<Event> history = new ConcurrentLinkedQueue<>();
    LeaseRecorder recorder = recorder("client", history);
    Lease first = acquireNow(client.lock(name));
    List<CompletableFuture<Void>> waiters = new ArrayList<>();
    for (int i = 0; i < 150; i++) {
      long requestedAt = System.nanoTime();
      waiters.add(
          client
              .lock(name)
              .acquireAsync()
              .thenAccept(
                  lease -> {
                    recorder.granted(lease, requestedAt).end();
                    lease.release();
                  }));
    }
    long before = first.fencingToken();
    first.release();
    allWithin(bound(), waiters, "a waiter was not served");
    assertExclusive(history);
    Lease last = acquireWithin(client().lock(name), "the lock is not free");
    long highest =
        history.stream()
            .filter(Event.Granted.class::isInstance)
            .mapToLong(event -> ((Event.Granted) event).token())
            .peek(token -> assertHigher(token, before, "within a client"))
            .max()
            .orElseThrow();
    assertHigher(last.fencingToken(), highest, "from the last handoff to another client");
    last.release();
  }

  @Rule("FENCE-01")
  void aSlowClientsTokenIsHigherThanThoseOfAllLeasesBeforeIt() throws Exception {
    String name = newName();
    Network network = network();
    DistributedLock slow = client(network, longLived()).lock(name);
    DistributedLock quick = client().lock(name);
    acquireNow(slow).release();
    long highest = 0;
    // An acquisition may take several round trips, all within one request time-out.
    Duration latency = timing().requestTimeout().dividedBy(8);
    try (Disturbance delay = network.delay(Direction.CLIENT_TO_SERVER, latency)) {
      Future<Lease> slowLease =
          inThread(() -> acquireWithin(bound().multipliedBy(3), slow, "a slow client got no lock"));
      while (!slowLease.isDone()) {
        Optional<Lease> lease = answer(quick::tryAcquire);
        if (lease.isPresent()) {
          highest = Math.max(highest, lease.get().fencingToken());
          lease.get().release();
        }
        sleep(Duration.ofMillis(5)); // the slow client's request may find the lock free
      }
      Lease lease = within(slowLease, "a slow client got no lock");
      assertStruck(delay);
      assertHigher(lease.fencingToken(), highest, "from quick clients to a slow one");
    }
  }

  @Rule("FENCE-01")
  void aSlowGrantThatWasForcedAwayHasALowerTokenThanItsSuccessor() throws Exception {
    String name = newName();
    Network network = network();
    DistributedLock slow = client(network, longLived()).lock(name);
    LockClient operator = client();
    acquireNow(slow).release();
    Duration latency = timing().requestTimeout().dividedBy(4);
    try (Disturbance delay = network.delay(Direction.SERVER_TO_CLIENT, latency)) {
      Future<Optional<Lease>> slowLease = inThread(slow::tryAcquire);
      eventually(
          () -> slowLease.isDone() || operator.admin().inspect(name).isHeld(),
          "a slow client got no lock");
      assumeTestable(!slowLease.isDone(), "the answer came before the lock was shown as held");
      forceRelease(operator, name, "forceRelease did not see the holder");
      Lease successor = acquireNow(operator.lock(name));
      // If the client noticed the forced release, it returned no lease to compare.
      long stale =
          emptyOn(LockException.class, () -> within(slowLease, "an attempt did not end"))
              .flatMap(lease -> lease.map(Lease::fencingToken))
              .orElse(0L);
      assertStruck(delay);
      assertHigher(successor.fencingToken(), stale, "from a slow grant to its successor");
      successor.release();
    }
  }

  @Rule("FENCE-01")
  void theSuccessorOfAHolderThatWasCutOffAtOnceHasAHigherToken() throws Exception {
    String name = newName();
    Network network = network();
    Lease cutOff = acquireNow(client(network, unrenewed()).lock(name));
    network.partition();
    Lease successor =
        acquireWithin(
            maxLifetime(cutOff),
            client().lock(name),
            "the lock of a client that was cut off was not freed");
    assertHigher(successor.fencingToken(), cutOff.fencingToken(), "from a client that was cut off");
    successor.release();
  }

  /** Runs threads that hand a lock to each other, and writes every token to a file. */
  static final class HandOff implements RemoteTask {
    private static final int THREADS = 20;

    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      DistributedLock lock = worker.client().lock(arguments.get(0));
      OutputStream tokens =
          new FileOutputStream(arguments.get(1)); // stays open until the process is killed
      Lease first = lock.acquire();
      for (int i = 0; i < THREADS; i++) {
        Thread thread = new Thread(() -> handOff(lock, tokens), "handoff-" + i);
        thread.setDaemon(true);
        thread.start();
      }
      first.release();
      return first.effectiveTtl().toString();
    }

    private static void handOff(DistributedLock lock, OutputStream tokens) {
      try {
        while (true) {
          try (Lease lease = lock.acquire()) {
            tokens.write((lease.fencingToken() + "\n").getBytes(US_ASCII));
          }
        }
      } catch (IOException | InterruptedException | LockException e) {
        // the tokens that were written are enough
      }
    }
  }

  @Rule("FENCE-01")
  void theSuccessorOfAProcessKilledDuringHandoffsHasAHigherToken(@TempDir Path folder)
      throws Exception {
    String name = newName();
    Path file = folder.resolve("tokens");
    OtherProcess holders = process(renewed());
    Duration ttl =
        Duration.parse(holders.call(bound().multipliedBy(2), HandOff.class, name, file.toString()));
    eventually(
        bound().multipliedBy(4),
        () -> tokensIn(file).size() >= 100,
        "the threads of one process did not hand the lock to each other");
    holders.kill();
    Lease successor =
        acquireWithin(
            ttl.plus(bound()), client().lock(name), "the killed process's lock was not acquired");
    long highest = tokensIn(file).stream().mapToLong(Long::longValue).max().orElseThrow();
    assertHigher(
        successor.fencingToken(), highest, "from a process killed during handoffs to another");
    successor.release();
  }

  /** {@return the tokens in the complete lines} */
  private static List<Long> tokensIn(Path file) {
    try {
      String text = Files.readString(file, US_ASCII);
      return text.substring(0, text.lastIndexOf('\n') + 1).lines().map(Long::valueOf).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  // --- FENCE-02 ---

  @Rule("FENCE-02")
  void tokensRiseAcrossARestartOfTheServer() throws Exception {
    assumeApplicable(
        info().failureModel().keepsTokenOrder(Fault.SERVER_RESTARTED),
        info().name() + " does not promise token order across a restart");
    Server server = ownServerWithNodes();
    String name = newName();
    DistributedLock lock = client(server.uri(), longLived()).lock(name);
    Lease before = acquireNow(lock);
    before.release();
    each(server.nodes(), RuleTest::killAndRestart);
    Lease after =
        acquireWithin(
            longLived().ttl().plus(bound()),
            client(server.uri(), longLived()).lock(name),
            "the lock was not acquired after the restart");
    assertHigher(after.fencingToken(), before.fencingToken(), "across a restart of the server");
    after.release();
    Lease old =
        acquireWithin(
            longLived().ttl().plus(bound()),
            lock,
            "a client from before the restart did not acquire the lock");
    assertHigher(old.fencingToken(), after.fencingToken(), "for a client from before the restart");
    old.release();
  }

  @Rule("FENCE-02")
  void tokensRiseAfterIdleTimeWithoutAnyClient() throws Exception {
    Duration ttl = Collections.max(List.of(Duration.ofMillis(500), info().minTtl()));
    LockClient operator = client();
    Map<String, Map.Entry<Kind, Long>> before = new LinkedHashMap<>();
    try (LockClient first = client(options(ttl, false))) {
      for (Kind kind : kinds()) {
        for (int end = 0; end < 3; end++) {
          String name = newName();
          Lease lease = acquireNow(kind.of(first, name));
          before.put(name, Map.entry(kind.whole(), lease.fencingToken()));
          if (end == 0) {
            lease.release();
          } else if (end == 1) {
            boolean unused = answer(() -> operator.admin().forceRelease(name));
          } else {
            awaitExpiry(lease);
          }
        }
      }
    }
    // A counter must outlast any number of TTLs. On most stores these are sixteen.
    sleep(Collections.max(List.of(Duration.ofSeconds(8), ttl.multipliedBy(4))));
    LockClient second = client();
    before.forEach(
        (name, last) -> {
          Lease after = acquireNow(last.getKey().of(second, name));
          assertHigher(after.fencingToken(), last.getValue(), "after idle time");
          after.release();
        });
  }

  // --- FENCE-03 ---

  @Rule("FENCE-03")
  void aTokenNeverChanges() throws Exception {
    String name = newName();
    LockClient client = client();
    Lease lease = acquireNow(client.lock(name));
    long token = lease.fencingToken();
    renewNow(lease, bound());
    assertEquals(token, lease.fencingToken(), "after a renewal");
    takeAway(name);
    Lease successor = acquireNow(client().lock(name));
    assertEquals(token, lease.fencingToken(), "after the grant to a successor");
    lease.release();
    assertEquals(token, lease.fencingToken(), "after the loss");
    long second = successor.fencingToken();
    successor.release();
    assertEquals(second, successor.fencingToken(), "after the release");
    client.close();
    assertEquals(token, lease.fencingToken(), "after the client was closed");
  }

  // --- FENCE-04 ---

  /** Acquires a name as a kind, checks that it is held, and returns its token. */
  static final class CheckBeforeWriting implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      Acquirable<Lease> lock = Kind.valueOf(arguments.get(1)).of(worker.client(), arguments.get(0));
      for (int attempts = 3; ; attempts--) {
        Lease lease = lock.acquire();
        try {
          lease.ensureHeld();
          return Long.toString(lease.fencingToken());
        } catch (LeaseLostException e) {
          if (attempts == 1) { // a stall of the machine may end a lease, but not every time
            throw e;
          }
        }
      }
    }
  }

  /** A store that checks the tokens of readers and writers, which claim them before they read. */
  private static final class GuardedStore {
    private long latestWriter;
    private long latest;

    boolean admitsReader(long token) {
      boolean admitted = token >= latestWriter;
      latest = admitted ? Math.max(latest, token) : latest;
      return admitted;
    }

    boolean admitsWriter(long token) {
      boolean admitted = token >= latest;
      if (admitted) {
        latestWriter = token;
        latest = token;
      }
      return admitted;
    }
  }

  @Rule("FENCE-04")
  void aStoppedHoldersLateWriteIsRefusedByItsToken() throws Exception {
    requireOtherProcesses();
    String name = newName();
    LateHolder holder = new LateHolder(name, Kind.LOCK);
    GuardedStore store = new GuardedStore();
    assertTrue(store.admitsWriter(holder.token));
    holder.stop(); // between its claim and its write
    Lease successor =
        acquireWithin(
            expiryTimeout(), client().lock(name), "the stopped process still holds the lock");
    assertTrue(store.admitsWriter(successor.fencingToken()), "the successor was refused");
    holder.resume(); // its write arrives
    assertFalse(store.admitsWriter(holder.token), "the late write was not refused by its token");
    assertTrue(successor.isHeld());
    successor.release();
  }

  // --- FENCE-05, FENCE-06 ---

  @Rule("FENCE-05")
  @Requires(value = Capability.FENCING, absent = true)
  void withoutTokensAskingForOneThrows() {
    Lease lease = acquireNow(client().lock(newName()));
    assertThrows(
        UnsupportedOperationException.class,
        lease::fencingToken,
        "a token was made up: the backend does not declare FENCING");
    lease.release();
    assertThrows(UnsupportedOperationException.class, lease::fencingToken);
  }

  @Rule({"FENCE-05", "FENCE-06"})
  void tokensArePositive() throws Exception {
    String name = newName();
    ReleaseOutcome released = ReleaseOutcome.RELEASED;
    for (int i = 0; i < 3; i++) {
      Lease lease = acquireAfter(released, client().lock(name));
      assertTrue(
          lease.fencingToken() > 0,
          () -> "the token is " + lease.fencingToken() + ", which is not positive");
      released = lease.release();
    }
  }

  // --- FENCE-07 ---

  private static final int SHARED_HOLDS = 15;

  @Rule("FENCE-07")
  @ResourceLock(MANY_CLIENTS)
  void tokensRiseFromOneKindOfLockToTheNext() throws Exception {
    if (!has(Capability.READ_WRITE)) {
      require(Capability.SEMAPHORE);
    }
    String name = newName();
    List<AcquirableFactory> ways = new ArrayList<>(List.of(Kind.LOCK));
    if (has(Capability.READ_WRITE)) {
      ways.addAll(List.of(Kind.READER, Kind.WRITER));
    }
    if (has(Capability.SEMAPHORE)) {
      ways.add((client, lock) -> client.semaphore(lock, 3));
      ways.addAll(List.of(Kind.ONE_PERMIT, Kind.ALL_PERMITS));
    }
    ways.add(Kind.LOCK);
    long last = 0;
    ReleaseOutcome released = ReleaseOutcome.RELEASED;
    for (int round = 0; round < 2; round++) {
      for (AcquirableFactory way : ways) {
        Lease lease = acquireAfter(released, way.of(client(), name));
        assertHigher(lease.fencingToken(), last, "from one kind of lock to the next");
        last = lease.fencingToken();
        released = lease.release();
      }
    }
  }

  @Rule("FENCE-07")
  void readersThatHoldTogetherHaveDifferentTokensBetweenThoseOfTheWriters() throws Exception {
    require(Capability.READ_WRITE);
    testTokensOfSharedHolds(Kind.READER, Kind.WRITER);
  }

  @Rule("FENCE-07")
  void permitsThatAreHeldTogetherHaveDifferentTokens() throws Exception {
    require(Capability.SEMAPHORE);
    testTokensOfSharedHolds(
        (client, name) -> client.semaphore(name, SHARED_HOLDS),
        (client, name) -> client.semaphore(name, SHARED_HOLDS).permits(SHARED_HOLDS));
  }

  private void testTokensOfSharedHolds(AcquirableFactory some, AcquirableFactory whole)
      throws Exception {
    String name = newName();
    LockClient client = client();
    Lease before = acquireNow(whole.of(client, name));
    List<CompletableFuture<Lease>> waiters = new ArrayList<>();
    List<LockClient> clients = List.of(client, client(), client());
    while (waiters.size() < SHARED_HOLDS) {
      waiters.add(some.of(clients.get(waiters.size() % clients.size()), name).acquireAsync());
    }
    before.release();
    List<Lease> holders = new ArrayList<>();
    for (CompletableFuture<Lease> waiter : waiters) {
      holders.add(within(waiter, "a waiter was not served"));
    }
    List<Long> tokens = holders.stream().map(Lease::fencingToken).sorted().toList();
    assertEquals(
        holders.size(),
        Set.copyOf(tokens).size(),
        () -> "leases that are held together have the same token: " + tokens);
    holders.forEach(Lease::release);
    Lease after = acquireWithin(whole.of(client(), name), "not free after the last holder");
    for (Lease holder : holders) {
      assertHigher(holder.fencingToken(), before.fencingToken(), "from the whole to some");
      assertHigher(after.fencingToken(), holder.fencingToken(), "from some to the whole");
    }
    after.release();
  }

  // --- FENCE-08 ---

  /**
   * A holder that does nothing until another one has the lock: a stopped process or, if the store
   * lives within one process, a holder whose lease expires.
   */
  private final class LateHolder {
    private final @Nullable OtherProcess process;
    final long token;

    LateHolder(String name, Kind kind) throws Exception {
      if (cannotHappen(Fault.CLIENT_KILLED)) {
        process = null;
        token = acquireNow(kind.of(client(unrenewed()), name)).fencingToken();
      } else {
        requireSignals();
        process = process(unrenewed());
        Duration limit = bound().multipliedBy(2);
        String answer = process.call(limit, CheckBeforeWriting.class, name, kind.name());
        token = Long.parseLong(answer);
      }
    }

    void stop() throws Exception {
      if (process != null) {
        process.stop();
      }
    }

    void resume() throws Exception {
      if (process != null) {
        process.resume();
      }
    }
  }

  private Duration expiryTimeout() {
    return unrenewed().ttl().multipliedBy(2).plus(bound());
  }

  @Rule("FENCE-08")
  void aStoppedWritersLateWriteIsRefusedWhileReadersRead() throws Exception {
    require(Capability.READ_WRITE);
    String name = newName();
    LateHolder writer = new LateHolder(name, Kind.WRITER);
    GuardedStore store = new GuardedStore();
    assertTrue(store.admitsWriter(writer.token));
    writer.stop(); // between its claim and its write
    Lease one =
        acquireWithin(
            expiryTimeout(),
            client().readWriteLock(name).readLock(),
            "the stopped process still holds the lock");
    Lease two = acquireNow(client().readWriteLock(name).readLock());
    long earlier = Math.min(one.fencingToken(), two.fencingToken());
    long later = Math.max(one.fencingToken(), two.fencingToken());
    assertHigher(earlier, writer.token, "from a stopped writer to the readers after it");
    assertHigher(later, earlier, "from one of two readers to the other");
    // The reader with the later token comes first.
    assertTrue(store.admitsReader(later) && store.admitsReader(earlier), "a reader was refused");
    writer.resume(); // its write arrives
    assertFalse(store.admitsWriter(writer.token), "the late write was accepted while readers read");
    assertTrue(one.isHeld() && two.isHeld());
    one.release();
    two.release();
    Lease next =
        acquireWithin(client().readWriteLock(name).writeLock(), "not free after the last reader");
    assertTrue(store.admitsWriter(next.fencingToken()), "the next writer was refused");
    next.release();
  }

  @Rule("FENCE-08")
  void aStoppedReadersLateReadIsRefusedAfterAWriter() throws Exception {
    require(Capability.READ_WRITE);
    String name = newName();
    LateHolder reader = new LateHolder(name, Kind.READER);
    GuardedStore store = new GuardedStore();
    assertTrue(store.admitsReader(reader.token));
    reader.stop(); // between its two reads
    Lease writer =
        acquireWithin(
            expiryTimeout(),
            client().readWriteLock(name).writeLock(),
            "the stopped process still holds the lock");
    assertTrue(store.admitsWriter(writer.fencingToken()), "the writer was refused");
    reader.resume(); // it reads again
    assertFalse(store.admitsReader(reader.token), "a late reader could see half of a change");
    assertTrue(writer.isHeld());
    writer.release();
  }
}
