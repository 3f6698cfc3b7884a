package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.MultiLock;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.run.Kit;
import dev.interlock.tck.run.NotTestedException;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** API: arguments, failures, names, URIs, secrets and threads. */
// calls that must be refused return no future
@SuppressWarnings("FutureReturnValueIgnored")
public abstract class ApiRules extends RuleTest {

  // --- API-01 ---

  @Rule("API-01")
  void badArgumentsAreRefusedWithoutAskingTheStore() throws Exception {
    Duration limit = timing().requestTimeout();
    LockClient client = clientOfASilentStore();
    DistributedLock lock = client.lock(newName());
    MultiLock set = client.multiLock(List.of(newName()));
    long start = System.nanoTime();
    refuseBadArguments(client, lock, set);
    // Retry after a stall of the machine; a request to the store would always wait.
    for (int retry = 0; retry < 2 && since(start).compareTo(limit) >= 0; retry++) {
      start = System.nanoTime();
      refuseBadArguments(client, lock, set);
    }
    assertTrue(since(start).compareTo(limit) < 0, "bad arguments were sent to a silent store");
  }

  private void refuseBadArguments(LockClient client, DistributedLock lock, MultiLock set) {
    for (String bad : List.of("", "x".repeat(256), "\uD83D", "a\uDD12", "\uDD12\uD83D")) {
      assertRefused(() -> client.lock(bad));
      assertRefused(() -> client.lock(bad, renewed(timing().longTtl())));
      assertRefused(() -> client.multiLock(List.of(newName(), bad)));
      assertRefused(() -> client.admin().inspect(bad));
      assertRefused(() -> client.admin().forceRelease(bad));
      assertRefused(() -> client.admin().revoke(bad));
    }
    assertRefused(() -> client.multiLock(List.of()));
    for (Duration bad : List.of(Duration.ofNanos(-1), Duration.ofDays(-1))) {
      assertRefused(() -> lock.tryAcquire(bad));
      assertRefused(() -> lock.tryAcquireAsync(bad));
      assertRefused(() -> set.tryAcquire(bad));
      assertRefused(() -> set.tryAcquireAsync(bad));
    }
    for (Duration bad : List.of(Duration.ZERO, Duration.ofNanos(-1), Duration.ofDays(-1))) {
      assertRefused(() -> LockOptions.builder().ttl(bad));
      assertRefused(() -> LockOptions.builder().maxHold(bad));
      assertRefused(() -> LockOptions.builder().waitTimeout(bad));
      assertRefused(() -> LockOptions.builder().outageTimeout(bad));
      assertRefused(() -> LockOptions.builder().pollInterval(bad));
      assertRefused(() -> LockOptions.builder().requestTimeout(bad));
      assertRefused(() -> client.lock(newName(), options -> options.ttl(bad)));
    }
    Duration other = client.options().requestTimeout().plusMillis(1);
    assertRefused(() -> client.lock(newName(), options -> options.requestTimeout(other)));
    assertRefused(
        () -> client.multiLock(List.of(newName()), options -> options.requestTimeout(other)));
    NullCalls.checkAll(client, lock);
  }

  private static String message(Exception e) {
    return String.valueOf(e.getMessage());
  }

  private interface Call {
    @Nullable Object make() throws Exception;
  }

  private static void assertRefused(Call call) {
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, call::make);
    assertNotNull(e.getMessage(), "an exception without a message");
    assertFalse(e.getMessage().isEmpty(), "an exception without a message");
  }

  /** Calls with null arguments. */
  @SuppressWarnings("NullAway")
  private static final class NullCalls {
    static void checkAll(LockClient client, DistributedLock lock) {
      assertRefused(() -> client.lock(null));
      assertRefused(() -> client.lock("a", null));
      assertRefused(() -> client.multiLock(null));
      assertRefused(() -> client.multiLock(List.of("a"), null));
      assertRefused(() -> client.admin().inspect(null));
      assertRefused(() -> client.admin().forceRelease(null));
      assertThrows(NullPointerException.class, () -> client.onEvent(null));
      assertRefused(() -> lock.tryAcquire(null));
      assertRefused(() -> lock.tryAcquireAsync(null));
      assertRefused(() -> LockClient.open(null));
      assertRefused(() -> LockOptions.builder().ttl(null));
    }

    private static void assertRefused(Call call) {
      assertThrows(NullPointerException.class, call::make);
    }
  }

  // --- API-02 ---

  @Rule("API-02")
  void anAttemptOnAHeldLockReturnsEmpty() throws Exception {
    String name = newName();
    try (Lease lease = client().lock(name).acquire()) {
      DistributedLock other = client().lock(name);
      assertEquals(Optional.empty(), answer(other::tryAcquire));
      Duration timeout = Duration.ofMillis(200);
      assertEquals(Optional.empty(), answer(() -> other.tryAcquire(timeout)));
      assertEquals(Optional.empty(), answer(() -> other.tryAcquire(Duration.ZERO)));
      assertEquals(
          Optional.empty(),
          answer(() -> within(other.tryAcquireAsync(), "the future did not end")));
      assertEquals(
          Optional.empty(),
          answer(() -> within(other.tryAcquireAsync(timeout), "the future did not end")));
      assertTrue(lease.isHeld());
    }
  }

  @Rule("API-02")
  void aStoreFailureThrowsAndNamesTheStore() throws Exception {
    Network network = network();
    LockClient client = client(network, longLived());
    String name = newName();
    try (Disturbance cut = network.cut()) {
      LockUnavailableException e =
          assertThrows(
              LockUnavailableException.class,
              () -> client.lock(name).tryAcquire(),
              () -> "not a failure, although " + cut);
      assertEquals(info().name(), e.backend());
      assertEquals(Optional.of(name), e.name());
      assertTrue(message(e).contains(name), () -> message(e));
      assertFalse(e.endpoint().isEmpty(), "the exception names no endpoint");
      assertTrue(message(e).contains(e.backend()), () -> message(e));
      assertTrue(message(e).contains(e.endpoint()), () -> message(e));
    }
  }

  // --- API-03 ---

  @Rule("API-03")
  void everyNameWorks() throws Exception {
    String unique = newName();
    String filler = "\u00E9".repeat(255 - unique.length());
    List<String> suffixes = new ArrayList<>(List.of(" ", " with spaces ", filler));
    String others =
        "/ // /a/b /../.. . .. {a} }{ % %2F %00 %41 + a+b _ a\\b\\ \\ *?[a-z] : = # @ \"'`$;|&"
            + " \u0000 \u0001\t\r\n\u007F \u0085\u2028 \u00E9 e\u0301 \uFB01 \u0130 \uD83D\uDD12"
            + " \uFFFF \uFEFF \u202E";
    suffixes.addAll(List.of(others.split(" ", -1)));
    LockClient client = client();
    LockClient other = client();
    acquireNow(other.lock(unique + "xyz")); // for prefixes that are taken for patterns
    for (String suffix : suffixes) {
      String name = unique + suffix;
      ReleaseOutcome outcome;
      Lease lease = acquireNow(client.lock(name));
      try {
        assertEquals(name, lease.name());
        assertRefused(other.lock(name), "two clients acquired the lock \"" + name + "\"");
        assertTrue(
            answer(() -> other.admin().inspect(name)).isHeld(),
            () -> "a held lock is not seen: " + name);
        assertListedAlone(other, name);
        if (has(Capability.FENCING)) {
          assertTrue(lease.fencingToken() > 0);
        }
      } finally {
        outcome = lease.release();
      }
      assertSeenFree(other, name, outcome);
    }
    // Try a name without a prefix, too: some characters may be special only at the start or in full
    // length.
    String longest = "\uD83D\uDD12".repeat(255);
    try (Lease lease =
        acquireWithin(timing().longTtl(), client.lock(longest), "the lock was not acquired")) {
      assertEquals(longest, lease.name());
      assertListedAlone(other, longest);
    }
  }

  private void assertListedAlone(LockClient observer, String name) {
    if (has(Capability.LIST)) {
      assertEquals(
          List.of(name),
          answer(() -> observer.admin().list(name).map(LockState::name).toList()),
          "the names that are listed with a held name as the prefix");
    }
  }

  @Rule("API-03")
  void everyLabelWorks() throws Exception {
    String separators = "/:;,|=~#@&+*?.-_\\'\"`$%{}[]()<>! \u2028\u00A0";
    List<String> labels =
        new ArrayList<>(
            List.of(
                " x ",
                "%3A%00 \\n \\u0041 {} %s",
                "007",
                "1e3",
                "null",
                separators.repeat(10).substring(0, 255),
                "\u00E9e\u0301\uFFFF".repeat(63) + "end",
                "x" + "\uD83D\uDD12".repeat(127)));
    separators.chars().forEach(c -> labels.add(String.format("a%cb%c1", c, c)));
    LockClient holder = client();
    LockClient other = client();
    List<Future<?>> tests = new ArrayList<>();
    Queue<String> untested = new ConcurrentLinkedQueue<>(labels);
    for (int thread = 0; thread < 6; thread++) {
      tests.add(
          doInThread(
              () -> {
                for (String label = untested.poll(); label != null; label = untested.poll()) {
                  for (Kind kind : kinds()) {
                    testLabel(kind, label, holder, other);
                  }
                }
              }));
    }
    allWithin(timing().longTtl(), tests, "locks with difficult labels were not acquired");
  }

  private void testLabel(Kind kind, String label, LockClient holder, LockClient other)
      throws Exception {
    String name = newName();
    String overlap = "two clients acquired a lock whose holder has the label \"" + label + "\"";
    Consumer<LockOptions.Builder> labelled = options -> options.label(label);
    Acquirable<Lease> next = kind.whole().of(other, name, labelled);
    Lease lease = acquireNow(kind.of(holder, name, labelled));
    assertRefused(next, overlap);
    assertLabelShown(other, lease, label);
    assertRenewed(lease, "a lease with the label \"" + label + "\" was lost");
    assertRefused(next, overlap);
    assertLabelShown(other, lease, label);
    CompletableFuture<Lease> waiter = next.acquireAsync();
    awaitQueued(other, name, 1);
    if (has(Capability.FIFO)) {
      assertEquals(
          List.of(label),
          answer(() -> other.admin().inspect(name)).waiters(),
          "the label shown of a waiter");
    }
    assertFalse(waiter.isDone(), overlap);
    assertReleased(lease, "a lease with the label \"" + label + "\" was lost");
    Lease successor =
        within(waiter, "the release of a lease with the label \"" + label + "\" freed no lock");
    assertLabelShown(holder, successor, label);
    assertSeenFree(holder, name, successor.release());
  }

  private void assertLabelShown(LockClient observer, Lease lease, String label) {
    for (LockState state : statesShown(observer, lease.name())) {
      assertTrue(state.isHeld(), () -> "shown as free, with the label \"" + label + "\"");
      assertShown(
          state.holders().get(0).label(), state.holders().get(0).fencingToken(), label, lease);
    }
  }

  // --- API-04 ---

  private String scheme() {
    String uri = kit().server().uri();
    if (Kit.provider(uri).isEmpty()) {
      throw new NotTestedException(
          "no provider serves "
              + Kit.scheme(uri)
              + ": URIs, so the backend is not opened by a URI");
    }
    return Kit.scheme(uri);
  }

  @Rule("API-04")
  void anUnknownSchemeListsTheProvidersFound() {
    String scheme = scheme();
    LockConfigurationException e =
        assertThrows(
            LockConfigurationException.class, () -> LockClient.open("no-such-store://localhost"));
    assertTrue(message(e).contains("no-such-store"), () -> message(e));
    assertTrue(message(e).contains(scheme), () -> message(e));
  }

  @Rule("API-04")
  void unknownParametersAndImpossiblePortsAreRefused() {
    String scheme = scheme();
    String uri = kit().server().uri();
    String separator = uri.contains("?") ? "&" : "?";
    LockConfigurationException e =
        assertThrows(
            LockConfigurationException.class,
            () -> LockClient.open(uri + separator + "noSuchParameter=1").close());
    assertTrue(message(e).contains("noSuchParameter"), () -> message(e));
    assertThrows(
        LockConfigurationException.class,
        () -> LockClient.open(uri + separator + "ttl=soon").close());
    if (uri.startsWith(scheme + "://")) {
      for (String address : List.of("localhost:0", "localhost:65536", "localhost:x", ":1", "")) {
        assertThrows(
            LockConfigurationException.class,
            () -> LockClient.open(scheme + "://" + address).close(),
            address);
      }
    }
  }

  // --- API-05 ---

  private static final String SECRET = "hunter2hunter2";

  /** Opens URIs with a password, and returns all texts of results and failures. */
  static final class OpenWithPassword implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      List<String> output = new ArrayList<>();
      for (String uri : arguments) {
        try (LockClient client = LockClient.open(uri)) {
          output.add(client + " " + client.endpoint() + " " + client.backend());
          output.add(client.lock("secrets") + " " + client.lock("secrets").tryAcquire());
        } catch (LockException e) {
          for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            output.add(cause.toString());
          }
        }
      }
      return String.join("\n", output);
    }
  }

  @Rule("API-05")
  void noPasswordIsEverShown() throws Exception {
    String scheme = scheme();
    String uri = kit().server().uri();
    String address = uri.replaceFirst("^[^:]*:(//)?([^@/?]*@)?", "");
    OtherProcess process = anyProcess(uri, longLived(), true);
    String output =
        process.call(
            timing().longTtl(),
            OpenWithPassword.class,
            scheme + "://somebody:" + SECRET + "@" + address,
            scheme + "://:" + SECRET + "@" + address,
            scheme + "://somebody:" + SECRET + "@localhost:1",
            scheme + "://somebody:" + SECRET + "@localhost:99999",
            scheme + "://somebody:" + SECRET + "@localhost:x",
            scheme + "://somebody:" + SECRET + "%zz@localhost",
            scheme + "://:" + SECRET + "?@localhost?ttl=5s",
            scheme + "://somebody:" + SECRET,
            "somebody:" + SECRET + "@localhost");
    assertFalse(output.isEmpty(), "the other JVM returned no text");
    assertFalse(output.contains(SECRET), () -> "a message shows the password: " + output);
    String log = process.log();
    assertFalse(log.contains(SECRET), () -> "the log shows the password: " + log);
  }

  // --- API-06 ---

  private static final String TOO_FAST = "too fast to tell";

  /** Runs two virtual threads on one carrier: one waits for a lock while the other works. */
  static final class ShareOneCarrier implements RemoteTask {
    private static final Duration MAX_WORK = Duration.ofSeconds(10);
    private static final Duration MAX_WAIT = Duration.ofSeconds(30);

    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      String name = arguments.get(0);
      boolean slow = Boolean.parseBoolean(arguments.get(1));
      DistributedLock lock = worker.client().lock(name);
      if (slow) {
        return share(lock, Optional.empty());
      }
      // held by another client, so that the acquisition has to wait for the store
      try (LockClient other = worker.open(arguments.get(2))) {
        return share(lock, Optional.of(other.lock(name).acquire()));
      }
    }

    private static String share(DistributedLock lock, Optional<Lease> blocker) throws Exception {
      AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
      CountDownLatch waiting = new CountDownLatch(1);
      CountDownLatch waited = new CountDownLatch(1);
      CountDownLatch worked = new CountDownLatch(1);
      AtomicBoolean workedDuringWait = new AtomicBoolean();
      startVirtual(
          () -> {
            waiting.countDown();
            try {
              lock.tryAcquire(MAX_WAIT).orElseThrow().close();
            } catch (Throwable e) {
              failure.set(e);
            }
            waited.countDown();
          });
      waiting.await();
      startVirtual(
          () -> {
            workedDuringWait.set(waited.getCount() > 0);
            worked.countDown();
          });
      boolean stillWaiting = waited.getCount() > 0;
      boolean shared = worked.await(MAX_WORK.toMillis(), MILLIS) && workedDuringWait.get();
      blocker.ifPresent(Lease::close);
      boolean ended = waited.await(MAX_WAIT.plusSeconds(10).toMillis(), MILLIS);
      if (failure.get() != null) {
        return "failed: " + failure.get();
      }
      return shared ? (ended ? "shared" : "stuck") : stillWaiting ? "pinned" : TOO_FAST;
    }

    private static final TimeUnit MILLIS = TimeUnit.MILLISECONDS;

    // reflective, since the kit also runs on Java 17
    private static void startVirtual(Runnable work) throws ReflectiveOperationException {
      Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
    }
  }

  private static void requireVirtualThreads() {
    assumeApplicable(Runtime.version().feature() >= 21, "this JVM has no virtual threads");
  }

  private OtherProcess processWithOneCarrier(String uri) throws Exception {
    OtherProcess process =
        anyProcess(
            uri,
            longLived(),
            false,
            "-Djdk.virtualThreadScheduler.parallelism=1",
            "-Djdk.virtualThreadScheduler.maxPoolSize=1");
    process.call(OTHER_JVM_TIMEOUT, WarmUp.class, newName());
    return process;
  }

  @Rule("API-06")
  void waitingForALockFreesTheCarrierThread() throws Exception {
    requireVirtualThreads();
    String uri = kit().server().uri();
    OtherProcess process = processWithOneCarrier(uri);
    assertEquals(
        "shared",
        process.call(timing().longTtl(), ShareOneCarrier.class, newName(), "false", uri),
        "a virtual thread beside one that waits for a lock");
  }

  @Rule("API-06")
  void waitingForASlowStoreFreesTheCarrierThread() throws Exception {
    requireVirtualThreads();
    Network network = network();
    OtherProcess process = processWithOneCarrier(network.uri());
    Duration latency = timing().requestTimeout().dividedBy(3);
    String outcome = TOO_FAST;
    for (int i = 0; i < 3 && !List.of("shared", "pinned").contains(outcome); i++) {
      // Connects first: over a slow network the round trips of a new connection would exceed the
      // request time-out. If the connection breaks later, the outcome says nothing.
      assertEquals(
          "shared",
          process.call(
              timing().longTtl(), ShareOneCarrier.class, newName(), "false", network.uri()));
      try (Disturbance delay = network.delay(Direction.CLIENT_TO_SERVER, latency)) {
        outcome = process.call(timing().longTtl(), ShareOneCarrier.class, newName(), "true");
      }
    }
    assertEquals(
        "shared",
        outcome,
        () ->
            "a virtual thread beside one that waits for a store that is slow by " + text(latency));
  }
}
