package dev.interlock.tck.specimen;

import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListSet;
import org.jspecify.annotations.Nullable;

/** Stores that share names wrongly. */
final class ShareMutants {
  private ShareMutants() {}

  static List<Specimen> all() {
    return MemorySpecimens.of(
        Specimen.mutant("readers beside a writer")
            .fault("Readers and writers of a name have different keys.")
            .harness(() -> MemoryMutant.ofBackend(ShareMutants::readersApart))
            .onlyRules("it breaks nearly every rule about both sides", "RW-01", "RW-02")
            .refusedBy("RW-01", "a writer was granted beside a reader")
            .refusedBy("RW-02", "a waiter is not shown in the queue"),
        Specimen.mutant("one permit too many")
            .fault("The store grants while less than the limit is held.")
            .harness(() -> MemoryMutant.ofBackend(ShareMutants::oneTooMany))
            .onlyRules("it breaks nearly every rule about permits", "SEM-01")
            .refusedBy("SEM-01", "more permits were granted than there are"),
        Specimen.mutant("weight forgotten at the first renewal")
            .fault("The renewal of several permits keeps one of them, on a store without a queue.")
            .harness(ShareMutants::weightForgotten)
            .onlyRules(
                "others find it when a permit that was given back gets in their way", "SEM-01")
            .refusedBy("SEM-01", "a renewal gave back permits"),
        Specimen.mutant("weight shown as one")
            .fault("Every holder is shown with one permit.")
            .harness(() -> MemoryMutant.ofBackend(ShareMutants::weightShownAsOne))
            .refusedBy("SEM-06", "the number of permits shown of each holder"),
        Specimen.mutant("permits that do not come back")
            .fault("Permits come back only if they are released in time.")
            .harness(() -> MemoryMutant.ofBackend(ShareMutants::permitsKept))
            .refusedBy("SEM-03", "one of two holds did not end at its own TTL")
            .refusedBy("SEM-04", "a hold did not expire")
            .refusedBy("SEM-06", "no waiter acquired the lock after the revoked lease had ended")
            .refusedBy("LEASE-01", "its own TTL, shorter than its client's")
            .refusedBy("FENCE-02", "an attempt on a free lock returned empty"),
        Specimen.mutant("dead permits counted on a busy name")
            .fault(
                "A counter holds the permits in use. Those of a holder that has ended leave it only"
                    + " with the last holder.")
            .harness(
                () -> {
                  Map<String, CountedTogether.Permits> permits = new ConcurrentHashMap<>();
                  return MemoryMutant.ofBackend(right -> new CountedTogether(right, permits));
                })
            .onlyRules("a waiter for all permits is not told of the last holder's end", "SEM-03")
            .refusedBy("SEM-03", "a hold that has ended is still counted while another is held"),
        Specimen.mutant("a writer that starves")
            .fault(
                "The store keeps no queue and does not remember who waits: readers are granted as"
                    + " long as readers hold the lock.")
            .harness(() -> MemoryMutant.ofBackend(WithoutQueue::new))
            .onlyRules("what others find depends on when a waiter polls", "RW-02", "SEM-02")
            // Without a record of the waiters, chance decides who starves.
            .refusedBy("RW-02", "starved")
            .refusedBy("SEM-02", "starved"),
        Specimen.mutant("an attempt that overtakes")
            .fault("An attempt that does not wait checks the holders only, not the queue.")
            .harness(() -> MemoryMutant.ofBackend(ShareMutants::overtaking))
            .onlyRules("it overtakes by breaking the queue", "RW-02", "SEM-02")
            .refusedBy("RW-02", "a small request overtook one for the whole")
            .refusedBy("SEM-02", "a small request overtook one for the whole"),
        Specimen.mutant("one TTL for the whole name")
            .fault("Each grant and renewal sets the expiry of all holders.")
            .harness(() -> oneTtl(ExpiryCause.GRANT_OR_RENEWAL))
            .refusedBy("RW-03", "the expiry of one hold freed the others")
            .refusedBy("SEM-03", "the expiry of one hold freed the others"),
        Specimen.mutant("a renewal for the whole name")
            .fault("Each renewal sets the expiry of all holders.")
            .harness(() -> oneTtl(ExpiryCause.RENEWAL))
            .refusedBy("RW-03", "the expiry of one hold freed the others")
            .refusedBy("SEM-03", "the expiry of one hold freed the others"),
        Specimen.mutant("a minimum hold for the whole name")
            .fault("The end of a minimum hold is the expiry of all holders.")
            .harness(() -> oneTtl(ExpiryCause.DEFERRAL))
            .refusedBy("RW-03", "the minimum hold of one ended the hold of another")
            .refusedBy("SEM-03", "the minimum hold of one ended the hold of another"),
        Specimen.mutant("weight forgotten for the minimum hold")
            .fault("A deferred release keeps one of several permits.")
            .harness(() -> MemoryMutant.ofBackend(ShareMutants::deferredWeightOne))
            .refusedBy("SEM-01", "given back before its minimum hold was over"),
        Specimen.mutant("a disagreement that is granted")
            .fault("Every kind of lock and every limit has its own key.")
            .harness(ShareMutants::keyPerShare)
            .refusedBy("RW-09", "a name was acquired in two ways")
            .refusedBy("SEM-07", "a name was acquired in two ways"),
        Specimen.mutant("a release that frees the whole name")
            .fault("The release of a reader or permit deletes the key with all holders.")
            .harness(() -> MemoryMutant.ofSilentBackend(ShareMutants::releaseOfAll))
            .onlyRules("it breaks most rules about several holders", "RW-04", "SEM-04")
            .refusedBy("RW-04", "a release ended the hold of another")
            .refusedBy("SEM-04", "a release ended the hold of another"),
        Specimen.mutant("a shared renewal whose answer is not read")
            .fault("The store's answers to renewals of readers and permits are ignored.")
            .harness(() -> MemoryMutant.ofSilentBackend(ShareMutants::answerNotRead))
            .exceptRules("the random faults may end before a loss goes unnoticed", "FAULT-01")
            .refusedBy("RW-06", "the loss of one of several holders was not signalled")
            .refusedBy("SEM-06", "the loss of one of several holders was not signalled")
            .refusedBy("LEASE-02", "not all were reported within a renewal interval")
            .refusedBy("LOSS-01", "not all were reported within a renewal interval"),
        Specimen.mutant("inspection of one holder")
            .fault("Only the first of several holders is shown.")
            .harness(() -> MemoryMutant.ofBackend(ShareMutants::firstShown))
            .refusedBy("RW-03", "the store ended a hold that was valid")
            .refusedBy("RW-08", "the holders shown")
            .refusedBy("SEM-03", "the store ended a hold that was valid")
            .refusedBy("SEM-06", "the holders shown"),
        Specimen.mutant("a forced release of one holder")
            .fault("A forced release frees only the first of several holders.")
            .harness(ShareMutants::firstForced)
            .onlyRules("it frees nothing where the holder is not known", "RW-08", "SEM-06")
            .refusedBy("RW-08", "not free after the forced release")
            .refusedBy("SEM-06", "not free after the forced release"),
        Specimen.mutant("shared tokens that repeat")
            .fault("All that hold a name together have the token of the first.")
            .harness(() -> sharedToken(true))
            .refusedBy("FENCE-07", "leases that are held together have the same token")
            .refusedBy("FENCE-08", "from one of two readers to the other")
            .refusedBy("RW-01", "two leases have the same token")
            .refusedBy("RW-08", "the token shown")
            .refusedBy("SEM-01", "two leases have the same token")
            .refusedBy("SEM-06", "the token shown"),
        Specimen.mutant("readers without tokens of their own")
            .fault("A grant to a reader or of permits draws no token, but repeats the last one.")
            .harness(() -> sharedToken(false))
            .refusedBy("FENCE-07", "from one kind of lock to the next")
            .refusedBy("FENCE-08", "from a stopped writer to the readers after it")
            .refusedBy("RW-01", "two leases have the same token")
            .refusedBy("RW-08", "the token shown")
            .refusedBy("SEM-01", "two leases have the same token")
            .refusedBy("SEM-06", "the token shown"));
  }

  /** The cause that sets the expiry of a whole name. */
  private enum ExpiryCause {
    GRANT_OR_RENEWAL,
    RENEWAL,
    DEFERRAL
  }

  private static MemoryMutant oneTtl(ExpiryCause cause) {
    Map<String, Map<String, Grant>> byName = new ConcurrentHashMap<>(); // shared by all clients
    return MemoryMutant.ofBackend(
        right ->
            new AlteredClaims(right) {
              private Map<String, Grant> holders(Claim claim) {
                return byName.computeIfAbsent(claim.name(), name -> new ConcurrentHashMap<>());
              }

              @Override
              Grant received(Grant grant) throws InterruptedException {
                if (!grant.claim().share().isWhole()) {
                  holders(grant.claim()).put(grant.claim().id(), grant);
                  if (cause == ExpiryCause.GRANT_OR_RENEWAL) {
                    setAll(grant.claim(), grant.claim().ttl());
                  }
                }
                return grant;
              }

              @Override
              public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
                Renewal renewal = super.renew(grant, deadline);
                boolean counts =
                    cause != ExpiryCause.DEFERRAL && renewal instanceof Renewal.Renewed;
                if (counts && !grant.claim().share().isWhole()) {
                  setAll(grant.claim(), grant.claim().ttl());
                }
                return renewal;
              }

              @Override
              public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
                  throws InterruptedException {
                holders(claim).remove(claim.id());
                boolean kept = super.releaseAfter(claim, delay, deadline);
                if (kept && cause == ExpiryCause.DEFERRAL) {
                  setAll(claim, delay);
                }
                return kept;
              }

              private void setAll(Claim latest, Duration ttl) throws InterruptedException {
                for (Grant grant : holders(latest).values()) {
                  Claim other = withTtl(grant.claim(), ttl);
                  Renewal unused = super.renew(Grant.forTtl(other, grant.token()), soon());
                }
              }

              @Override
              public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
                holders(claim).remove(claim.id());
                return super.release(claim, deadline);
              }
            });
  }

  private static boolean isReader(Claim claim) {
    return claim.share().equals(Share.READ);
  }

  private static Deadline soon() {
    return Deadline.in(TimeSource.system(), Duration.ofSeconds(1));
  }

  private static LockBackend readersApart(QueueingBackend right) {
    return new AlteredClaims(right) {
      @Override
      String nameFor(Claim claim) {
        return isReader(claim) ? claim.name() + ":readers" : claim.name();
      }
    };
  }

  private static LockBackend oneTooMany(QueueingBackend right) {
    return new AlteredClaims(right) {
      @Override
      Share sent(Share share) {
        return share.kind() == LockKind.SEMAPHORE
            ? Share.ofSemaphore(share.weight(), share.capacity() + 1)
            : share;
      }
    };
  }

  /** Replaces what a renewal finds by one permit. */
  private static MemoryMutant weightForgotten() {
    Set<String> renewed = ConcurrentHashMap.newKeySet(); // shared by all clients
    return MemoryMutant.ofSilentBackend(
        right ->
            new WithoutQueue(
                new AlteredClaims(right) {
                  private static boolean isForgettable(Claim claim) {
                    return claim.share().kind() == LockKind.SEMAPHORE && claim.share().weight() > 1;
                  }

                  @Override
                  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
                    Claim claim = grant.claim();
                    if (!isForgettable(claim) || renewed.contains(claim.id())) {
                      return super.renew(grant, deadline);
                    }
                    if (!super.release(claim, deadline)) {
                      return new Renewal.Lost(LossReason.TAKEN, "the store no longer has it");
                    }
                    renewed.add(claim.id());
                    Share share = Share.ofSemaphore(1, claim.share().capacity());
                    Claim one = altered(claim, claim.name(), claim.ttl(), claim.label(), share);
                    Attempt unused = tryAcquire(one, deadline);
                    return new Renewal.Confirmed();
                  }
                }));
  }

  private static LockBackend weightShownAsOne(QueueingBackend right) {
    return new ForwardingQueue(right) {
      @Override
      public LockState inspect(String name, Deadline deadline) throws InterruptedException {
        LockState state = super.inspect(name, deadline);
        if (!state.kind().equals(Optional.of(LockKind.SEMAPHORE))) {
          return state;
        }
        return AlteredClaims.altered(
            state,
            name,
            state.holders().stream()
                .map(
                    holder ->
                        LockStates.holder(
                            LockKind.SEMAPHORE,
                            1,
                            holder.label().orElse(null),
                            holder.fencingToken().getAsLong(),
                            holder.remaining().orElse(null),
                            holder.heldSince().orElse(null)))
                .toList());
      }
    };
  }

  private static LockBackend permitsKept(QueueingBackend right) {
    return new AlteredClaims(right) {
      @Override
      Duration ttlFor(Claim claim) {
        return claim.share().kind() == LockKind.SEMAPHORE ? Duration.ofDays(1) : claim.ttl();
      }

      /** Clients also release what has expired by their own clocks. */
      @Override
      public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
        boolean isLate =
            claim.share().kind() == LockKind.SEMAPHORE
                && !claim.autoRenew()
                && System.nanoTime() - claim.issuedAt() - claim.ttl().toNanos() > 0;
        return !isLate && super.release(claim, deadline);
      }
    };
  }

  /** Keeps the permits of ended holders on the store, where it shows them no more. */
  private static final class CountedTogether extends AlteredClaims {
    /** The ends of the grants of a name by their tokens, and the claims; shared by all clients. */
    static final class Permits {
      private final Map<Long, Long> ends = new ConcurrentHashMap<>();
      private final Map<Long, Claim> claims = new ConcurrentHashMap<>();

      boolean isDead(long token) {
        return ends.getOrDefault(token, System.nanoTime() + 1) - System.nanoTime() <= 0;
      }
    }

    private final Map<String, Permits> permits;

    CountedTogether(QueueingBackend right, Map<String, Permits> permits) {
      super(right);
      this.permits = permits;
    }

    private Permits of(String name) {
      return permits.computeIfAbsent(name, unused -> new Permits());
    }

    private static boolean isCounted(Claim claim) {
      return claim.share().kind() == LockKind.SEMAPHORE;
    }

    @Override
    Duration ttlFor(Claim claim) {
      return isCounted(claim) ? Duration.ofDays(1) : claim.ttl();
    }

    @Override
    Grant received(Grant grant) {
      if (isCounted(grant.claim())) {
        of(grant.claim().name()).claims.put(grant.token(), grant.claim());
        extend(grant);
      }
      return grant;
    }

    private void extend(Grant grant) {
      of(grant.claim().name())
          .ends
          .put(grant.token(), System.nanoTime() + grant.claim().ttl().toNanos());
    }

    @Override
    void busy(String name) throws InterruptedException {
      forgetTheLast(name);
    }

    /** Frees all permits if every holder has ended. */
    private void forgetTheLast(String name) throws InterruptedException {
      Permits all = of(name);
      if (all.ends.keySet().stream().allMatch(all::isDead)) {
        all.ends.clear();
        for (Claim claim : List.copyOf(all.claims.values())) {
          boolean unused = super.release(claim, soon());
        }
        all.claims.clear();
      }
    }

    @Override
    public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
      if (isCounted(grant.claim())) {
        if (of(grant.claim().name()).isDead(grant.token())) {
          return new Renewal.Lost(LossReason.EXPIRED, "it has expired");
        }
        extend(grant);
      }
      return super.renew(grant, deadline);
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
      Permits all = of(claim.name());
      boolean dead = false;
      for (Map.Entry<Long, Claim> entry : Map.copyOf(all.claims).entrySet()) {
        if (entry.getValue().isSame(claim)) {
          dead = all.isDead(entry.getKey());
          if (!dead) {
            all.claims.remove(entry.getKey());
            all.ends.remove(entry.getKey());
          }
        }
      }
      boolean released = !dead && super.release(claim, deadline);
      forgetTheLast(claim.name());
      return released;
    }

    @Override
    public LockState inspect(String name, Deadline deadline) throws InterruptedException {
      forgetTheLast(name);
      LockState state = super.inspect(name, deadline);
      List<LockState.Holder> alive =
          state.holders().stream()
              .filter(holder -> !of(name).isDead(holder.fencingToken().orElse(0)))
              .toList();
      return state.isHeld() ? altered(state, name, alive) : state;
    }
  }

  /** Grants claims that the queue keeps waiting, under another name. */
  private static LockBackend overtaking(QueueingBackend right) {
    return new ForwardingQueue(right) {
      private final Map<String, Claim> overtaken = new ConcurrentHashMap<>();

      @Override
      public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
        Attempt attempt = super.tryAcquire(claim, deadline);
        if (attempt instanceof Attempt.Granted || claim.share().isWhole()) {
          return attempt;
        }
        LockState state = inspect(claim.name(), deadline);
        long heldWeight =
            state.holders().stream().mapToLong(holder -> holder.permits().orElse(0)).sum();
        if (heldWeight + claim.share().weight() > claim.share().capacity()) {
          return attempt;
        }
        Claim aside =
            AlteredClaims.altered(
                claim, claim.name() + ":aside", claim.ttl(), claim.label(), claim.share());
        overtaken.put(claim.id(), aside);
        return super.tryAcquire(aside, deadline) instanceof Attempt.Granted granted
            ? new Attempt.Granted(
                Grant.forTtl(claim, granted.grant().token())
                    .validUntil(granted.grant().validUntil()))
            : attempt;
      }

      @Override
      public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
        Claim aside = overtaken.remove(claim.id());
        return super.release(aside == null ? claim : aside, deadline);
      }
    };
  }

  private static LockBackend deferredWeightOne(QueueingBackend right) {
    return new ForwardingQueue(right) {
      @Override
      public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
          throws InterruptedException {
        Share share = claim.share();
        if (share.kind() != LockKind.SEMAPHORE) {
          return super.releaseAfter(claim, delay, deadline);
        }
        Claim one =
            new Claim(
                claim.name(),
                claim.deferredId(),
                delay,
                false,
                claim.label(),
                System.nanoTime(),
                Share.ofSemaphore(1, share.capacity()),
                claim.reservation());
        return release(claim, deadline) && tryAcquire(one, deadline) instanceof Attempt.Granted;
      }
    };
  }

  private static MemoryMutant keyPerShare() {
    Map<String, Set<String>> keys = new ConcurrentHashMap<>(); // shared by all clients
    return MemoryMutant.ofBackend(
        right ->
            new AlteredClaims(right) {
              private Set<String> of(String name) {
                return keys.computeIfAbsent(
                    name, unused -> new ConcurrentSkipListSet<>(Set.of(name)));
              }

              @Override
              String nameFor(Claim claim) {
                Share share = claim.share();
                if (share.isExclusive()) {
                  return claim.name();
                }
                String key = claim.name() + ":" + share.kind() + share.capacity();
                of(claim.name()).add(key);
                return key;
              }

              @Override
              public LockState inspect(String name, Deadline deadline) throws InterruptedException {
                for (String key : of(name)) {
                  LockState state = super.inspect(key, deadline);
                  if (state.isHeld()) {
                    return altered(state, name, state.holders());
                  }
                }
                return LockStates.free(name);
              }

              @Override
              public LockPage list(
                  String prefix, @Nullable String cursor, int limit, Deadline deadline)
                  throws InterruptedException {
                LockPage page = super.list(prefix, cursor, limit, deadline);
                return new LockPage(
                    page.locks().stream()
                        .map(
                            state ->
                                keys.entrySet().stream()
                                    .filter(entry -> entry.getValue().contains(state.name()))
                                    .findFirst()
                                    .map(entry -> altered(state, entry.getKey(), state.holders()))
                                    .orElse(state))
                        .toList(),
                    page.next());
              }

              @Override
              public boolean forceRelease(String name, Deadline deadline)
                  throws InterruptedException {
                boolean released = false;
                for (String key : of(name)) {
                  released |= super.forceRelease(key, deadline);
                }
                return released;
              }

              @Override
              public boolean revoke(String name, Deadline deadline) throws InterruptedException {
                boolean released = false;
                for (String key : of(name)) {
                  released |= super.revoke(key, deadline);
                }
                return released;
              }
            });
  }

  private static LockBackend releaseOfAll(QueueingBackend right) {
    return new ForwardingQueue(right) {
      @Override
      public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
        boolean released = super.release(claim, deadline);
        if (released && !claim.share().isWhole()) {
          boolean unused = forceRelease(claim.name(), deadline);
        }
        return released;
      }
    };
  }

  private static LockBackend answerNotRead(QueueingBackend right) {
    return new ForwardingQueue(right) {
      @Override
      public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
        long now = System.nanoTime();
        Renewal renewal = super.renew(grant, deadline);
        return grant.claim().share().isWhole()
            ? renewal
            : new Renewal.Renewed(now + grant.effectiveTtl().toNanos());
      }
    };
  }

  private static LockBackend firstShown(QueueingBackend right) {
    return new ForwardingQueue(right) {
      @Override
      public LockState inspect(String name, Deadline deadline) throws InterruptedException {
        LockState state = super.inspect(name, deadline);
        return state.isHeld()
            ? AlteredClaims.altered(state, name, state.holders().subList(0, 1))
            : state;
      }
    };
  }

  private static MemoryMutant firstForced() {
    Map<String, ConcurrentLinkedQueue<Claim>> granted =
        new ConcurrentHashMap<>(); // shared by all clients
    return MemoryMutant.ofBackend(
        right ->
            new AlteredClaims(right) {
              @Override
              Grant received(Grant grant) {
                granted
                    .computeIfAbsent(grant.claim().name(), name -> new ConcurrentLinkedQueue<>())
                    .add(grant.claim());
                return grant;
              }

              @Override
              public boolean forceRelease(String name, Deadline deadline)
                  throws InterruptedException {
                ConcurrentLinkedQueue<Claim> claims = granted.get(name);
                Claim first = claims == null ? null : claims.poll();
                return first != null && release(first, deadline);
              }
            });
  }

  private static MemoryMutant sharedToken(boolean firstTakesOne) {
    Map<String, Long> tokens = new ConcurrentHashMap<>(); // by name, shared by all clients
    return MemoryMutant.ofBackend(
        right ->
            new AlteredClaims(right) {
              @Override
              Grant received(Grant grant) {
                Claim claim = grant.claim();
                if (!claim.share().isWhole()) {
                  return withToken(
                      grant, tokens.computeIfAbsent(claim.name(), name -> grant.token()));
                }
                if (firstTakesOne) {
                  tokens.remove(claim.name());
                } else {
                  tokens.put(claim.name(), grant.token());
                }
                return grant;
              }
            });
  }
}
