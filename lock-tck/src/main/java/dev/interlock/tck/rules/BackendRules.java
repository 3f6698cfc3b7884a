package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Capability;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
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
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.parallel.ResourceLock;

/** What a backend answers when the engine asks about many locks at once. */
public abstract class BackendRules extends RuleTest {

  private static final int THREADS = 8;
  private static final int SEVERAL_PAGES = 300;

  /** A backend without an engine. */
  private final class Direct implements AutoCloseable {
    final LockBackend backend;

    Direct(String uri) {
      LockOptions options = longLived();
      backend = kit().harness().backend(uri).open(new Context(options));
    }

    /** {@return a claim that is not renewed unless a test does that} */
    Claim claim(String name, Share share, Duration ttl) {
      String id = UUID.randomUUID().toString().replace("-", "").substring(0, 27);
      return new Claim(name, id, ttl, true, text(ttl), System.nanoTime(), share, Duration.ZERO);
    }

    Grant acquire(String name, Share share, Duration ttl) throws InterruptedException {
      return answer(
          () -> {
            Attempt attempt = backend.tryAcquire(claim(name, share, ttl), deadline());
            return attempt instanceof Attempt.Granted granted
                ? granted.grant()
                : fail("an attempt on a free lock was answered with " + attempt);
          });
    }

    /** Acquires different locks on several threads. */
    List<Grant> acquireAll(List<String> names, IntFunction<Duration> ttl) throws Exception {
      List<Future<List<Grant>>> parts = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        int first = thread;
        parts.add(
            inThread(
                () -> {
                  List<Grant> part = new ArrayList<>();
                  for (int i = first; i < names.size(); i += THREADS) {
                    part.add(acquire(names.get(i), Share.EXCLUSIVE, ttl.apply(i)));
                  }
                  return part;
                }));
      }
      List<Grant> grants = new ArrayList<>();
      for (Future<List<Grant>> part : parts) {
        grants.addAll(within(timing().longTtl(), part, "free locks were not acquired"));
      }
      return grants;
    }

    List<Renewal> renewAll(List<Grant> grants) throws InterruptedException {
      return answer(
          () -> {
            List<Renewal> outcomes = backend.renewAll(grants, deadline());
            assertEquals(grants.size(), outcomes.size(), "the number of answers to a batch");
            for (Renewal outcome : outcomes) {
              if (outcome instanceof Renewal.Failed failed) {
                throw failed.problem();
              }
            }
            return outcomes;
          });
    }

    boolean release(Grant grant) throws InterruptedException {
      return answer(() -> backend.release(grant.claim(), deadline()));
    }

    LockState inspect(String name) throws InterruptedException {
      return answer(() -> backend.inspect(name, deadline()));
    }

    @Override
    public void close() {
      backend.close();
    }
  }

  private record Context(LockOptions options) implements BackendContext {
    @Override
    public TimeSource time() {
      return TimeSource.system();
    }

    @Override
    public void reportLoss(Claim claim, LossReason reason, String detail) {}
  }

  private Deadline deadline() {
    return Deadline.in(TimeSource.system(), timing().requestTimeout());
  }

  private Direct direct() {
    return closing(new Direct(kit().server().uri()));
  }

  private List<String> newNames(int count) {
    return IntStream.range(0, count).mapToObj(i -> newName()).toList();
  }

  @Rule({"LEASE-02", "LOSS-01"})
  @ResourceLock(STORE_ENTRIES)
  void aBatchIsAnsweredForEachOfItsGrants() throws Exception {
    Direct direct = direct();
    List<Grant> batch =
        direct.acquireAll(newNames(largestBatch(direct.backend)), i -> timing().longTtl());
    Random random = new Random(batch.size());
    Set<Grant> gone = new HashSet<>();
    for (int lost : List.of(0, 1, batch.size() / 3, batch.size() / 3)) {
      Collections.shuffle(batch, random);
      for (Grant grant : batch.subList(0, lost)) {
        if (gone.add(grant)) {
          direct.release(grant);
        }
      }
      Collections.shuffle(batch, random);
      List<Renewal> outcomes = direct.renewAll(batch);
      for (int i = 0; i < batch.size(); i++) {
        int index = i;
        assertEquals(
            gone.contains(batch.get(i)),
            outcomes.get(i) instanceof Renewal.Lost,
            () ->
                "whether grant %d of a batch of %d, of which %d are gone, is answered as lost"
                    .formatted(index, batch.size(), gone.size()));
      }
    }
  }

  /** {@return how many grants the engine renews at once; not applicable if that is one} */
  private int largestBatch(LockBackend backend) {
    int largest = backend.maxGrantsPerRenewal();
    assumeApplicable(largest > 1, info().name() + " renews each grant by itself");
    return largest;
  }

  @Rule({"LEASE-01", "LEASE-02"})
  @ResourceLock(STORE_ENTRIES)
  void eachGrantOfABatchIsRenewedByItsOwnTtl() throws Exception {
    Direct direct = direct();
    Duration longTtl = timing().longTtl();
    Duration shortTtl = longTtl.multipliedBy(3).dividedBy(5);
    List<Grant> batch =
        direct.acquireAll(
            newNames(largestBatch(direct.backend) - 8), i -> i % 3 == 0 ? shortTtl : longTtl);
    Duration briefTtl = timing().renewedTtl();
    for (Share share : shares()) {
      for (List<Duration> ttls : List.of(List.of(briefTtl, longTtl), List.of(longTtl, briefTtl))) {
        String name = newName();
        for (Duration ttl : ttls) {
          batch.add(direct.acquire(name, share, ttl));
        }
      }
    }
    Grant gone = batch.get(0);
    direct.release(gone);
    sleep(info().granularity().plusSeconds(1)); // a store that renews nothing shows less time
    long before = System.nanoTime();
    List<Renewal> outcomes = direct.renewAll(batch);
    List<Grant> kept = new ArrayList<>();
    for (int i = 0; i < batch.size(); i++) {
      Grant grant = batch.get(i);
      boolean mayHaveEnded = grant == gone || grant.claim().ttl().equals(briefTtl);
      if (!(mayHaveEnded && outcomes.get(i) instanceof Renewal.Lost)) {
        assertKeptForItsTtl(direct, grant, before);
        kept.add(grant);
      }
    }
    sleep(briefTtl.plus(info().granularity()));
    kept.removeIf(grant -> grant.claim().ttl().equals(briefTtl));
    assertNoneLost(
        direct.renewAll(kept), "of grants that are renewed together, one ended before its TTL");
  }

  /** {@return the kinds of shares that leave room for another} */
  private List<Share> shares() {
    List<Share> shares = new ArrayList<>();
    if (has(Capability.READ_WRITE)) {
      shares.add(Share.READ);
    }
    if (has(Capability.SEMAPHORE)) {
      shares.add(Share.ofSemaphore(1, 2));
    }
    return shares;
  }

  /** Checks the time left that the store shows, if it shows that, against the TTL. */
  private void assertKeptForItsTtl(Direct direct, Grant grant, long renewed)
      throws InterruptedException {
    LockState state = direct.inspect(grant.claim().name());
    Duration least =
        grant
            .validityPerConfirmation()
            .minus(since(renewed))
            .minus(info().granularity())
            .minusMillis(100);
    Duration most = grant.effectiveTtl().plus(bound());
    List<Duration> shown =
        state.holders().stream()
            .filter(holder -> holder.label().equals(Optional.of(grant.claim().label())))
            .flatMap(holder -> holder.remaining().stream())
            .toList();
    assertTrue(
        shown.stream().allMatch(left -> left.compareTo(least) >= 0 && left.compareTo(most) <= 0),
        () ->
            "of grants that are renewed together, one has a TTL of "
                + text(grant.effectiveTtl())
                + ", but the store keeps it for "
                + shown.stream().map(RuleTest::text).collect(Collectors.joining(", ")));
    assertTrue(state.isHeld(), "of grants that are renewed together, one ended before its TTL");
  }

  @Rule("FAULT-04")
  @ResourceLock(STORE_ENTRIES)
  void aLostAnswerToABatchIsNoLoss() throws Exception {
    Network network = network();
    Direct direct = closing(new Direct(network.uri()));
    List<Grant> batch =
        direct.acquireAll(newNames(largestBatch(direct.backend)), i -> timing().longTtl());
    for (int earlier = 0; earlier < 3; earlier++) {
      int passing = earlier;
      try (Disturbance lost = network.everywhere(proxy -> proxy.loseAnswer(passing))) {
        assertNoneLost(
            direct.backend.renewAll(batch, deadline()), "a lost answer was taken for a loss");
      } catch (LockUnavailableException e) {
        // the engine asks again
      }
      assertNoneLost(direct.renewAll(batch), "a lost answer was taken for a loss");
    }
  }

  private static void assertNoneLost(List<Renewal> outcomes, String message) {
    for (Renewal outcome : outcomes) {
      if (outcome instanceof Renewal.Lost lost) {
        fail(message + ": " + lost);
      }
    }
  }

  @Rule("ADMIN-04")
  @Requires(Capability.LIST)
  @ResourceLock(STORE_ENTRIES)
  void thePagesOfAListingShowEveryHeldLock() throws Exception {
    Direct direct = direct();
    String prefix = newName();
    List<String> names = IntStream.range(0, SEVERAL_PAGES).mapToObj(i -> prefix + "/" + i).toList();
    List<Grant> grants =
        direct.acquireAll(names, i -> i % 2 == 0 ? timing().longTtl() : timing().ttl());
    Set<String> held = new TreeSet<>();
    Set<String> free = new TreeSet<>();
    for (Grant grant : grants) {
      String name = grant.claim().name();
      if (name.endsWith("0")) {
        direct.release(grant);
        free.add(name);
      } else if (grant.claim().ttl().equals(timing().longTtl())) {
        held.add(name);
      }
    }
    // The others end meanwhile.
    Deadline end = Deadline.in(TimeSource.system(), timing().ttl().plus(info().granularity()));
    do {
      for (int limit : List.of(10, 100)) {
        assertPagesShow(direct.backend, prefix + "/", limit, held, free);
      }
    } while (!end.hasPassed());
  }

  private void assertPagesShow(
      LockBackend backend, String prefix, int limit, Set<String> held, Set<String> free)
      throws InterruptedException {
    Set<String> listed = new TreeSet<>();
    @Nullable String cursor = null;
    do {
      String from = cursor;
      LockPage page = answer(() -> backend.list(prefix, from, limit, deadline()));
      assertTrue(
          page.locks().size() <= SEVERAL_PAGES / 2 + limit,
          () -> "a page with a limit of %d shows %d locks".formatted(limit, page.locks().size()));
      page.locks().forEach(lock -> listed.add(lock.name()));
      cursor = page.next();
    } while (cursor != null);
    Set<String> missing = new TreeSet<>(held);
    missing.removeAll(listed);
    assertEquals(Set.of(), missing, "the names of held locks that no page shows");
    listed.retainAll(free);
    assertEquals(Set.of(), listed, "the names of released locks on pages");
  }
}
