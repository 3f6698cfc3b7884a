package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.run.LateError;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A backend without an engine, for what it answers about many locks at once. */
final class DirectBackend implements AutoCloseable {
  private static final int THREADS = 8;

  private final RuleTest test;
  private final LockBackend backend;

  private record Context(LockOptions options) implements BackendContext {
    @Override
    public TimeSource time() {
      return TimeSource.system();
    }

    @Override
    public void reportLoss(Claim claim, LossReason reason, String detail) {}
  }

  /** Opens the backend under test at a URI. It is closed after the test. */
  DirectBackend(RuleTest test, String uri) {
    this.test = test;
    backend = test.kit().harness().backend(uri).open(new Context(test.longLived()));
    DirectBackend unused = test.closing(this);
    String name = backend.info().name();
    RuleTest.assumeTestable(
        name.equals(test.info().name()),
        "the harness opens clients of " + test.info().name() + ", but the backend " + name);
  }

  private Deadline deadline() {
    return Deadline.in(TimeSource.system(), test.timing().requestTimeout());
  }

  /** {@return how many grants the engine renews at once; not applicable if that is one} */
  int largestBatch() {
    int largest = backend.maxGrantsPerRenewal();
    RuleTest.assumeApplicable(largest > 1, backend.info().name() + " renews each grant by itself");
    return largest;
  }

  /** Acquires a free lock. After an attempt in doubt, a refusal is only late, since it may hold. */
  Grant acquire(String name, Share share, Duration ttl) throws InterruptedException {
    AtomicBoolean inDoubt = new AtomicBoolean();
    return test.answer(
        () -> {
          boolean again = inDoubt.getAndSet(true);
          String id = UUID.randomUUID().toString().replace("-", "").substring(0, 27);
          Claim claim =
              new Claim(
                  name, id, ttl, true, RuleTest.text(ttl), System.nanoTime(), share, Duration.ZERO);
          Attempt attempt = backend.tryAcquire(claim, deadline());
          if (attempt instanceof Attempt.Granted granted) {
            return granted.grant();
          }
          String message = "an attempt on a free lock was answered with " + attempt;
          return again ? late(message) : fail(message);
        });
  }

  private static Grant late(String message) {
    throw new LateError(message);
  }

  /** Acquires a number of locks on several threads. The order of the grants varies. */
  List<Grant> acquireAll(int count, String prefix, IntFunction<Duration> ttl) throws Exception {
    List<Future<List<Grant>>> parts = new ArrayList<>();
    for (int thread = 0; thread < THREADS; thread++) {
      int first = thread;
      parts.add(
          test.inThread(
              () -> {
                List<Grant> part = new ArrayList<>();
                for (int i = first; i < count; i += THREADS) {
                  part.add(acquire(prefix + i, Share.EXCLUSIVE, ttl.apply(i)));
                }
                return part;
              }));
    }
    List<Grant> grants = new ArrayList<>();
    for (Future<List<Grant>> part : parts) {
      grants.addAll(test.within(test.timing().longTtl(), part, "free locks were not acquired"));
    }
    return grants;
  }

  /** {@return the answers to one request; it is repeated while the store is too busy to answer} */
  List<Renewal> renewAll(List<Grant> grants) throws InterruptedException {
    return test.answer(() -> renewOnce(grants));
  }

  List<Renewal> renewOnce(List<Grant> grants) throws InterruptedException {
    List<Renewal> answers = backend.renewAll(grants, deadline());
    assertEquals(grants.size(), answers.size(), "the number of answers to a batch");
    for (Renewal answer : answers) {
      if (answer instanceof Renewal.Failed failed) {
        throw failed.problem();
      }
    }
    return answers;
  }

  static void assertNoneLost(List<Renewal> answers, String message) {
    for (Renewal answer : answers) {
      if (answer instanceof Renewal.Lost lost) {
        fail(message + ": " + lost);
      }
    }
  }

  void release(Grant grant) throws InterruptedException {
    boolean unused = test.answer(() -> backend.release(grant.claim(), deadline()));
  }

  /** Checks the time left that the store shows, if it shows that, against the TTL. */
  void assertKeptForItsTtl(Grant grant, long renewed) throws InterruptedException {
    LockState state = test.answer(() -> backend.inspect(grant.claim().name(), deadline()));
    Duration least =
        grant
            .validityPerConfirmation()
            .minus(RuleTest.since(renewed))
            .minus(backend.info().granularity())
            .minusMillis(100);
    Duration most = grant.effectiveTtl().plus(test.bound());
    List<Duration> shown =
        state.holders().stream()
            .filter(holder -> holder.label().equals(Optional.of(grant.claim().label())))
            .flatMap(holder -> holder.remaining().stream())
            .toList();
    assertTrue(
        shown.stream().allMatch(left -> left.compareTo(least) >= 0 && left.compareTo(most) <= 0),
        () ->
            "of grants that are renewed together, one has a TTL of "
                + RuleTest.text(grant.effectiveTtl())
                + ", but the store keeps it for "
                + shown.stream().map(RuleTest::text).collect(Collectors.joining(", ")));
    assertTrue(state.isHeld(), "of grants that are renewed together, one ended before its TTL");
  }

  /** {@return the names on the pages of one listing} */
  Set<String> namesOnPages(String prefix, int limit, int most) throws InterruptedException {
    Set<String> listed = new TreeSet<>();
    @Nullable String cursor = null;
    do {
      String from = cursor;
      LockPage page = test.answer(() -> backend.list(prefix, from, limit, deadline()));
      assertTrue(
          page.locks().size() <= most,
          () -> "a page with a limit of %d shows %d locks".formatted(limit, page.locks().size()));
      page.locks().forEach(lock -> listed.add(lock.name()));
      cursor = page.next();
    } while (cursor != null);
    return listed;
  }

  @Override
  public void close() {
    backend.close();
  }
}
