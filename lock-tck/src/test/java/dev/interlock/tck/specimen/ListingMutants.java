package dev.interlock.tck.specimen;

import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Share;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Stores that list their locks wrongly. */
final class ListingMutants {
  private ListingMutants() {}

  static List<Specimen> all() {
    return List.of(
        Specimen.mutant("listing of one page")
            .fault("A listing ends after its first page.")
            .harness(
                () ->
                    listing(
                        (right, prefix, cursor, limit, until) ->
                            new LockPage(right.list(prefix, cursor, limit, until).locks(), null)))
            .refusedBy("ADMIN-04", "the names listed under")
            .build(),
        Specimen.mutant("listing by offset")
            .fault("The cursor of a listing is the number of the locks on the pages before.")
            .harness(() -> listing(ListingMutants::byOffset))
            .refusedBy("ADMIN-04", "while others were released, a listing missed held locks")
            .build(),
        Specimen.mutant("listing that ends at an empty page")
            .fault("A page on which no name has the prefix ends the listing.")
            .harness(() -> listing(ListingMutants::toEmptyPage))
            .refusedBy("ADMIN-04", "the names listed under")
            .exceptRules(
                "which pages are empty depends on the names of other tests",
                "API-03",
                "RW-08",
                "SEM-06")
            .build(),
        Specimen.mutant("listing that cuts its pages")
            .fault("What the store returns beyond the limit of a page is left out.")
            .harness(() -> listing(ListingMutants::cutPages))
            .refusedBy("ADMIN-04", "the names")
            .build(),
        Specimen.mutant("listing in pages of holders")
            .fault("A page ends after a number of holders, also between two of one name.")
            .harness(() -> listing(ListingMutants::pagesOfHolders))
            .refusedBy("RW-08", "a listing shows another state than inspection")
            .refusedBy("SEM-06", "a listing shows another state than inspection")
            .build(),
        Specimen.mutant("listing of names and states apart")
            .fault("The names of a page are combined with states that lack those of free locks.")
            .harness(() -> listing(ListingMutants::namesAndStates))
            .refusedBy("ADMIN-04", "a listing shows another state than inspection")
            .build(),
        Specimen.mutant("listing by a prefix with escapes")
            .fault("A backslash in a prefix is dropped.")
            .harness(
                () ->
                    listing(
                        (right, prefix, cursor, limit, until) ->
                            right.list(prefix.replace("\\", ""), cursor, limit, until)))
            .refusedBy("ADMIN-04", "the names listed under")
            .refusedBy("API-03", "the names that are listed with a held name as the prefix")
            .build(),
        Specimen.mutant("listing of decoded names")
            .fault("A plus sign in a name is listed as a space.")
            .harness(() -> listing(ListingMutants::decoded))
            .refusedBy("API-03", "the names that are listed with a held name as the prefix")
            .build(),
        Specimen.mutant("listing of ended holds")
            .fault("A listing shows holds whose TTL has passed.")
            .harness(
                () -> {
                  Map<String, Grant> unreleased = new ConcurrentHashMap<>();
                  return MemoryMutant.ofBackend(right -> new EndedHoldsListed(right, unreleased));
                })
            .refusedBy("ADMIN-04", "a hold that has ended is still listed")
            .refusedBy("RW-08", "a hold that has ended is still listed")
            .refusedBy("SEM-06", "a hold that has ended is still listed")
            .build());
  }

  /** A wrong way to list locks. */
  private interface Listing {
    LockPage page(
        QueueingBackend right, String prefix, @Nullable String cursor, int limit, Deadline until)
        throws InterruptedException;
  }

  private static MemoryMutant listing(Listing wrong) {
    return MemoryMutant.ofBackend(
        right ->
            new ForwardingQueue(right) {
              @Override
              public LockPage list(
                  String prefix, @Nullable String cursor, int limit, Deadline deadline)
                  throws InterruptedException {
                return wrong.page(right, prefix, cursor, limit, deadline);
              }
            });
  }

  private static LockPage byOffset(
      QueueingBackend right, String prefix, @Nullable String cursor, int limit, Deadline until)
      throws InterruptedException {
    int start = cursor == null ? 0 : Integer.parseInt(cursor);
    List<LockState> all = right.list(prefix, null, Integer.MAX_VALUE, until).locks();
    int end = Math.min(start + limit, all.size());
    return new LockPage(
        all.subList(Math.min(start, end), end), end < all.size() ? Integer.toString(end) : null);
  }

  private static LockPage toEmptyPage(
      QueueingBackend right, String prefix, @Nullable String cursor, int limit, Deadline until)
      throws InterruptedException {
    LockPage page = right.list("", cursor, limit, until);
    List<LockState> locks =
        page.locks().stream().filter(lock -> lock.name().startsWith(prefix)).toList();
    return new LockPage(locks, locks.isEmpty() ? null : page.next());
  }

  private static LockPage cutPages(
      QueueingBackend right, String prefix, @Nullable String cursor, int limit, Deadline until)
      throws InterruptedException {
    LockPage page = right.list(prefix, cursor, limit + 1, until);
    return new LockPage(page.locks().subList(0, Math.min(limit, page.locks().size())), page.next());
  }

  private static LockPage pagesOfHolders(
      QueueingBackend right, String prefix, @Nullable String cursor, int limit, Deadline until)
      throws InterruptedException {
    List<LockState> locks = new ArrayList<>();
    int left = limit;
    for (LockState lock : right.list(prefix, cursor, limit, until).locks()) {
      List<LockState.Holder> holders = lock.holders();
      locks.add(named(lock.name(), lock, holders.subList(0, Math.min(left, holders.size()))));
      left -= holders.size();
      if (left <= 0) {
        return new LockPage(locks, lock.name());
      }
    }
    return new LockPage(locks, null);
  }

  private static LockPage namesAndStates(
      QueueingBackend right, String prefix, @Nullable String cursor, int limit, Deadline until)
      throws InterruptedException {
    LockPage page = right.list(prefix, cursor, limit, until);
    LockSupport.parkNanos(10_000_000); // so that others run meanwhile
    List<LockState> states = new ArrayList<>();
    for (LockState lock : page.locks()) {
      LockState state = right.inspect(lock.name(), until);
      if (state.isHeld()) {
        states.add(state);
      }
    }
    for (int i = 0; i < states.size(); i++) {
      states.set(i, named(page.locks().get(i).name(), states.get(i), states.get(i).holders()));
    }
    return new LockPage(states, page.next());
  }

  private static LockPage decoded(
      QueueingBackend right, String prefix, @Nullable String cursor, int limit, Deadline until)
      throws InterruptedException {
    LockPage page = right.list(prefix, cursor, limit, until);
    return new LockPage(
        page.locks().stream()
            .map(lock -> named(lock.name().replace('+', ' '), lock, lock.holders()))
            .toList(),
        page.next());
  }

  private static LockState named(String name, LockState lock, List<LockState.Holder> holders) {
    return LockStates.held(
        name,
        lock.kind().orElse(LockKind.EXCLUSIVE),
        lock.limit().orElse(Share.UNLIMITED),
        holders,
        List.of());
  }

  private static final class EndedHoldsListed extends AlteredClaims {
    private final Map<String, Grant> unreleased;

    EndedHoldsListed(QueueingBackend right, Map<String, Grant> unreleased) {
      super(right);
      this.unreleased = unreleased;
    }

    @Override
    Grant received(Grant grant) {
      if (!grant.claim().autoRenew()) {
        unreleased.put(grant.claim().id(), grant);
      }
      return grant;
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
      unreleased.remove(claim.id());
      return super.release(claim, deadline);
    }

    @Override
    public LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
        throws InterruptedException {
      LockPage page = super.list(prefix, cursor, limit, deadline);
      if (page.next() != null) {
        return page;
      }
      Map<String, LockState> locks = new HashMap<>();
      page.locks().forEach(lock -> locks.put(lock.name(), lock));
      for (Grant grant : unreleased.values()) {
        Claim claim = grant.claim();
        String name = claim.name();
        if (name.startsWith(prefix) && System.nanoTime() - grant.validUntil() > 0) {
          LockKind kind = claim.share().kind();
          List<LockState.Holder> holders =
              new ArrayList<>(locks.getOrDefault(name, LockStates.free(name)).holders());
          holders.add(LockStates.holder(kind, 1, claim.label(), grant.token(), null, null));
          locks.put(
              name, LockStates.held(name, kind, claim.share().capacity(), holders, List.of()));
        }
      }
      return new LockPage(List.copyOf(locks.values()), null);
    }
  }
}
