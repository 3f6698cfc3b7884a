package dev.interlock.tck.specimen;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

/** Faults of the store, or of the communication with it. */
final class StoreMutants {
  private StoreMutants() {}

  static List<Specimen> all() {
    return MemorySpecimens.of(
        Specimen.mutant("expiry ignored")
            .fault("The store never expires a lease.")
            .harness(
                () -> MemoryMutant.ofBackend(right -> withTtls(right, claim -> Duration.ofDays(1))))
            .refusedBy("EXCL-01", "the lock was not acquired after leases that expired")
            .refusedBy("EXCL-03", "the lease did not expire")
            .refusedBy("WAIT-05", "did not get the lock after the TTL")
            .refusedBy("LEASE-01", "the store did not free the lock after the TTL")
            .refusedBy("LEASE-04", "renewing a lost lease took the lock again")
            .refusedBy("FENCE-01", "the lease did not end")
            .refusedBy("ADMIN-01", "remaining")
            .refusedBy("ADMIN-03", "no waiter acquired the lock after the revoked lease had ended")
            .refusedBy("JUC-04", "the lease did not expire")
            .refusedBy("FENCE-02", "an attempt on a free lock returned empty"),
        Specimen.mutant("TTL of the client for every lock")
            .fault("The store ignores the TTL of a lock, and uses that of its client.")
            .harness(
                () ->
                    MemoryMutant.ofBackendWithOptions(
                        (right, options) -> withTtls(right, claim -> options.ttl())))
            .refusedBy("LEASE-01", "its client"),
        Specimen.mutant("renewal with the TTL of the client")
            .fault("A renewal ignores the TTL of a lock, and uses that of its client.")
            .harness(
                () -> MemoryMutant.ofBackendWithOptions(StoreMutants::renewalWithTtlOfTheClient))
            .refusedBy("LEASE-01", "its client"),
        Specimen.mutant("TTL in 32 bits")
            .fault("The milliseconds of a TTL wrap at 2^31.")
            .harness(
                () -> MemoryMutant.ofBackend(right -> ttlWrapped(right, millis -> (int) millis)))
            .refusedBy("LEASE-01", "a lease with a long TTL was lost"),
        Specimen.mutant("TTL in 32 bits without a sign")
            .fault("The milliseconds of a TTL wrap at 2^32.")
            .harness(
                () ->
                    MemoryMutant.ofBackend(
                        right -> ttlWrapped(right, millis -> millis & 0xFFFF_FFFFL)))
            .refusedBy("LEASE-01", "the time left was shown as"),
        Specimen.mutant("expiry pushed back by failed attempts")
            .fault("Every attempt sets the expiry of the lock, even one that fails.")
            .harness(StoreMutants::expiryPushedBack)
            .refusedBy("WAIT-05", "did not get the lock after the TTL"),
        Specimen.mutant("check-then-set")
            .fault("The backend checks whether the lock is free, and sets it in a second step.")
            .harness(() -> MemoryMutant.ofSilentBackend(StoreMutants::checkThenSet))
            .exceptRules(
                "whether other rules detect the race depends on timing",
                "MULTI-*",
                "FAULT-01",
                "EXCL-08",
                "WAIT-07",
                "WAIT-08",
                "WAIT-09",
                "LEASE-05")
            .refusedBy("EXCL-01", "two leases were valid at once")
            .refusedBy("FENCE-01", "two leases were valid at once"),
        Specimen.mutant("names case-folded")
            .fault("The store compares names without regard to case.")
            .harness(() -> MemoryMutant.ofBackend(StoreMutants::namesFolded))
            .refusedBy("EXCL-02", "is taken for another name")
            .refusedBy("ADMIN-04", "returned empty"),
        Specimen.mutant("long names refused")
            .fault("A name may have no more than 255 bytes.")
            .harness(() -> MemoryMutant.ofBackend(StoreMutants::longNamesRefused))
            .refusedBy("API-03", "too long"),
        Specimen.mutant("long labels cut")
            .fault("The store keeps only 64 characters of a label.")
            .harness(
                () ->
                    MemoryMutant.ofBackend(
                        right ->
                            new AlteredClaims(right) {
                              @Override
                              String labelFor(Claim claim) {
                                String label = claim.label();
                                return label.substring(0, Math.min(label.length(), 64));
                              }
                            }))
            .refusedBy("API-03", "the holder shown"),
        Specimen.mutant("label that ends an entry")
            .fault(
                "An entry is the label, a colon and the expiry. With a colon in its label, it has"
                    + " expired.")
            .harness(
                () ->
                    MemoryMutant.ofSilentBackend(
                        right ->
                            withTtls(
                                right,
                                claim ->
                                    claim.label().contains(":")
                                        ? Duration.ofNanos(1)
                                        : claim.ttl())))
            .refusedBy("API-03", "two clients acquired a lock whose holder has the label"),
        Specimen.mutant("waiter leaked after cancel")
            .fault(
                "A waiter that gives up stays in the queue, and is granted the lock in its turn.")
            .harness(() -> MemoryMutant.ofBackend(StoreMutants::waiterLeaked))
            .exceptRules(
                "the results depend on how many waiters FAULT-01 leaks, and on whether an interrupt"
                    + " finds the view in the queue",
                "FAULT-01",
                "JUC-03")
            .refusedBy("WAIT-07", "an interrupted waiter became the holder")
            .refusedBy("WAIT-08", "a cancelled acquisition became the holder")
            .refusedBy("REL-03", "an abandoned attempt")
            .refusedBy("REL-05", "a wait of the closed client became the holder")
            .refusedBy("FAIR-01", "was not served")
            .refusedBy("FAIR-02", "a waiter that left is still in the queue")
            .refusedBy("RW-05", "a waiter that has left keeps others out")
            .refusedBy("SEM-05", "a waiter that has left keeps others out"),
        Specimen.mutant("waiter not woken")
            .fault("The first signal for a client is lost, and its waiter polls only after 15 s.")
            .harness(() -> MemoryMutant.ofBackend(StoreMutants::waiterNotWoken))
            .onlyRules(
                "others have limits that a slow machine stretches beyond 15 s",
                "WAIT-03",
                "WAIT-05",
                "JUC-03")
            .refusedBy("WAIT-03", "the waiter did not get the lock after the release")
            .refusedBy("WAIT-05", "did not get the lock after the TTL")
            .refusedBy("JUC-03", "lock did not return after the release"),
        Specimen.mutant("last come, first served")
            .fault("The queue is served from its end, although the backend declares FIFO.")
            .harness(() -> misordered(line -> line.isEmpty() ? 0 : line.get(0).number() - 1))
            .refusedBy("FAIR-01", "[4, 3, 2, 1, 0]"),
        Specimen.mutant("place numbered by the length of the queue")
            .fault("A waiter's number is the length of the queue, even after others have left.")
            .harness(() -> misordered(List::size))
            .refusedBy("FAIR-02", "not served in the order of arrival"),
        Specimen.mutant("place that lasts for a TTL")
            .fault("A place in the queue ends after its waiter's TTL, although the waiter waits.")
            .harness(() -> MemoryMutant.ofBackend(StoreMutants::placeThatEnds))
            .refusedBy("FAIR-01", "a waiter lost its place"),
        Specimen.mutant("place that ends with the lock")
            .fault("A lock that expires takes the place of its first waiter with it.")
            .harness(
                () -> {
                  Set<String> expired = ConcurrentHashMap.newKeySet();
                  return MemoryMutant.ofBackend(right -> new PlaceThatEndsWithLock(right, expired));
                })
            .refusedBy("FAIR-01", "[1, 2, 3, 4, 0]"),
        Specimen.mutant("validity counted from the reply of a slow line")
            .fault(
                "The first client in the queue learns of its grant 300 ms late, and counts validity"
                    + " from that moment.")
            .harness(StoreMutants::countedFromReply)
            .refusedBy("EXCL-01", "two leases were valid at once")
            .refusedBy("FENCE-01", "two leases were valid at once")
            .exceptRules(
                "the result depends on whether the 300 ms are over when the view is used",
                "JUC-04"),
        Specimen.mutant("renewal that is never sent")
            .fault("The client confirms renewals without a request to the store.")
            .harness(() -> MemoryMutant.ofBackend(StoreMutants::renewalNotSent))
            .refusedBy("LEASE-02", "another client acquired the lock of a renewed lease")
            .refusedBy("ADMIN-03", "acquired the lock while the revoked lease was still valid")
            .refusedBy("MULTI-02", "was freed while the set waited for the second")
            .refusedBy("LOSS-01", "of many leases that are gone, not all were reported"),
        Specimen.mutant("renewal that takes the lock anew")
            .fault("A renewal sets the lock if it is gone, and no loss is reported.")
            .harness(() -> MemoryMutant.ofSilentBackend(StoreMutants::renewalThatTakes))
            .refusedBy("LEASE-04", "a lost lease was renewed, with the lock free")
            .refusedBy("LOSS-01", "the loss was not reported within a renewal interval")
            .refusedBy("LOSS-04", "the loss of a lease was not reported")
            .refusedBy("MULTI-02", "the loss of a member was not reported")
            .refusedBy("LEASE-02", "not all were reported within a renewal interval"),
        Specimen.mutant("renewal after release")
            .fault(
                "The last renewal of a short lease reaches the store after its release, and sets the lock.")
            .harness(() -> MemoryMutant.ofBackend(StoreMutants::renewalAfterRelease))
            .exceptRules(
                "the result depends on when the late renewal arrives", "LEASE-06", "MULTI-02")
            .refusedBy("LEASE-05", "the lock is still held after its release"),
        Specimen.mutant("deferred release ignored")
            .fault("The store promises to release a lock later, and leaves it to its TTL.")
            .harness(
                () ->
                    MemoryMutant.ofBackend(
                        right ->
                            new ForwardingQueue(right) {
                              @Override
                              public boolean releaseAfter(
                                  Claim claim, Duration delay, Deadline deadline) {
                                return true;
                              }
                            }))
            .refusedBy("LEASE-11", "the store keeps the lock for less than its minimum hold")
            .refusedBy("LEASE-12", "the lock was kept beyond its minimum hold"),
        Specimen.mutant("deferred release with the client")
            .fault("Closing a client frees the locks that the store was to release later.")
            .harness(() -> MemoryMutant.ofBackend(StoreMutants::deferredReleaseWithClient))
            .refusedBy("LEASE-12", "the lock was free before its minimum hold was over"),
        Specimen.mutant("revocation that forces")
            .fault("Revoking a lock frees it at once.")
            .harness(
                () ->
                    MemoryMutant.ofSilentBackend(
                        right ->
                            new ForwardingQueue(right) {
                              @Override
                              public boolean revoke(String name, Deadline deadline)
                                  throws InterruptedException {
                                return forceRelease(name, deadline);
                              }
                            }))
            .refusedBy("ADMIN-03", "acquired the lock while the revoked lease was still valid"));
  }

  private static LockBackend withTtls(QueueingBackend right, Function<Claim, Duration> ttls) {
    return new AlteredClaims(right) {
      @Override
      Duration ttlFor(Claim claim) {
        return ttls.apply(claim);
      }
    };
  }

  private static LockBackend ttlWrapped(QueueingBackend right, LongUnaryOperator wrap) {
    return withTtls(right, claim -> Duration.ofMillis(wrap.applyAsLong(claim.ttl().toMillis())));
  }

  private static LockBackend renewalWithTtlOfTheClient(QueueingBackend right, LockOptions options) {
    return new ForwardingQueue(right) {
      @Override
      public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
        Claim sent = AlteredClaims.withTtl(grant.claim(), options.ttl());
        return super.renew(
                    Grant.forTtl(sent, grant.token()).validUntil(grant.validUntil()), deadline)
                instanceof Renewal.Lost lost
            ? lost
            : new Renewal.Confirmed();
      }
    };
  }

  private static MemoryMutant expiryPushedBack() {
    Map<String, Grant> holders = new ConcurrentHashMap<>(); // shared by all clients
    return MemoryMutant.ofBackend(
        right ->
            new AlteredClaims(right) {
              @Override
              Grant received(Grant grant) {
                holders.put(grant.claim().name(), grant);
                return grant;
              }

              @Override
              void busy(String name) throws InterruptedException {
                Grant holder = holders.get(name);
                if (holder != null) {
                  Renewal unused =
                      renew(holder, Deadline.in(TimeSource.system(), Duration.ofSeconds(1)));
                }
              }
            });
  }

  private static LockBackend deferredReleaseWithClient(QueueingBackend right) {
    return new ForwardingQueue(right) {
      private final Set<String> deferred = ConcurrentHashMap.newKeySet();

      @Override
      public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
          throws InterruptedException {
        deferred.add(claim.name());
        return super.releaseAfter(claim, delay, deadline);
      }

      @Override
      public void close() {
        Deadline soon = Deadline.in(TimeSource.system(), Duration.ofSeconds(1));
        for (String name : deferred) {
          try {
            boolean unused = forceRelease(name, soon);
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        }
        super.close();
      }
    };
  }

  private static LockBackend checkThenSet(QueueingBackend right) {
    return new ForwardingBackend(right) {
      @Override
      public BackendInfo info() {
        BackendInfo info = super.info();
        return BackendInfoBuilder.from(info)
            .capabilities(Capability.FENCING, Capability.REVOKE)
            .build();
      }

      @Override
      public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
        LockState state = inspect(claim.name(), deadline);
        if (state.isHeld()) {
          return new Attempt.Busy(Duration.ofMillis(2));
        }
        LockSupport.parkNanos(2_000_000);
        // overwrites the entry of another client
        boolean unused = forceRelease(claim.name(), deadline);
        return super.tryAcquire(claim, deadline);
      }
    };
  }

  private static LockBackend namesFolded(QueueingBackend right) {
    return new AlteredClaims(right) {
      @Override
      String sent(String name) {
        return name.toLowerCase(Locale.ROOT);
      }
    };
  }

  private static LockBackend longNamesRefused(QueueingBackend right) {
    return new AlteredClaims(right) {
      @Override
      String sent(String name) {
        if (name.getBytes(StandardCharsets.UTF_8).length > 255) {
          throw new LockConfigurationException("the name is too long");
        }
        return name;
      }
    };
  }

  private static LockBackend waiterLeaked(QueueingBackend right) {
    return new AlteredClaims(right) {
      private final Set<String> granted = ConcurrentHashMap.newKeySet();

      @Override
      Grant received(Grant grant) {
        granted.add(grant.claim().id());
        return grant;
      }

      @Override
      public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
        return granted.remove(claim.id()) && super.release(claim, deadline);
      }
    };
  }

  /** Loses signals to waiters. */
  private static LockBackend waiterNotWoken(QueueingBackend right, TimeSource time) {
    return new ForwardingQueue(right) {
      private static final Duration POLL_INTERVAL = Duration.ofSeconds(15);
      private final AtomicBoolean woken = new AtomicBoolean();

      @Override
      public Place join(Claim claim, Deadline deadline) throws InterruptedException {
        Place right = super.join(claim, deadline);
        WakeUp closed = new WakeUp(time);
        return new Place() {
          @Override
          public Attempt await(Deadline until) throws InterruptedException {
            if (woken.getAndSet(true)) {
              return right.await(until);
            }
            boolean waited = false;
            try {
              Attempt attempt = right.await(Deadline.at(time, time.nanoTime()));
              if (attempt instanceof Attempt.Granted) {
                return attempt;
              }
              closed.await(until.atMost(POLL_INTERVAL));
              waited = true;
              return right.await(until);
            } finally {
              woken.set(waited);
            }
          }

          @Override
          public void close() {
            right.close();
            closed.signal();
          }
        };
      }
    };
  }

  private record Numbered(Claim claim, int number) {}

  private static MemoryMutant misordered(ToIntFunction<List<Numbered>> numbering) {
    Misordered.Lines lines = new Misordered.Lines(numbering);
    return MemoryMutant.ofBackend((right, time) -> new Misordered(right, time, lines));
  }

  /** Serves waiters in the order of their numbers instead of the declared queue. */
  private static final class Misordered extends ForwardingQueue {
    private final Lines lines;
    private final TimeSource time;

    /** Shared by all clients. */
    private static final class Lines {
      private final ToIntFunction<List<Numbered>> numbering;
      private final Map<String, List<Numbered>> byName = new ConcurrentHashMap<>();

      Lines(ToIntFunction<List<Numbered>> numbering) {
        this.numbering = numbering;
      }

      void enter(Claim claim) {
        byName.compute(
            claim.name(),
            (name, line) -> {
              List<Numbered> before = line == null ? List.of() : line;
              Numbered place = new Numbered(claim, numbering.applyAsInt(before));
              return Stream.concat(before.stream(), Stream.of(place))
                  .sorted(Comparator.comparingInt(Numbered::number))
                  .toList();
            });
      }

      void leave(Claim claim) {
        byName.computeIfPresent(
            claim.name(),
            (name, line) -> line.stream().filter(place -> !place.claim().isSame(claim)).toList());
      }

      boolean isFirst(Claim claim) {
        return of(claim.name()).get(0).isSame(claim);
      }

      List<Claim> of(String name) {
        return byName.getOrDefault(name, List.of()).stream().map(Numbered::claim).toList();
      }
    }

    Misordered(QueueingBackend right, TimeSource time, Lines lines) {
      super(right);
      this.time = time;
      this.lines = lines;
    }

    @Override
    public Place join(Claim claim, Deadline deadline) {
      lines.enter(claim);
      WakeUp closed = new WakeUp(time);
      return new Place() {
        private volatile boolean hasLeft;

        @Override
        public Attempt await(Deadline until) throws InterruptedException {
          while (true) {
            if (!hasLeft && lines.isFirst(claim)) {
              Attempt attempt = tryAcquire(claim, until);
              if (attempt instanceof Attempt.Granted) {
                lines.leave(claim);
                return attempt;
              }
            }
            if (hasLeft || until.hasPassed()) {
              return new Attempt.Busy(Duration.ZERO);
            }
            closed.await(until.atMost(Duration.ofMillis(2)));
          }
        }

        @Override
        public void close() {
          hasLeft = true;
          closed.signal();
        }
      };
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
      lines.leave(claim);
      return super.release(claim, deadline);
    }

    @Override
    public LockState inspect(String name, Deadline deadline) throws InterruptedException {
      LockState state = super.inspect(name, deadline);
      return state.isHeld()
          ? LockStates.held(
              name,
              state.holder().flatMap(LockState.Holder::label).orElse(null),
              state.fencingToken().getAsLong(),
              state.remaining().orElse(null),
              lines.of(name).stream().map(Claim::label).toList())
          : state;
    }
  }

  private static final class PlaceThatEndsWithLock extends ForwardingQueue {
    private static final Duration BEFORE_END = Duration.ofMillis(500);

    /** The names of locks that have expired; shared by all clients. */
    private final Set<String> expired;

    PlaceThatEndsWithLock(QueueingBackend right, Set<String> expired) {
      super(right);
      this.expired = expired;
    }

    @Override
    public Place join(Claim claim, Deadline deadline) throws InterruptedException {
      Place right = super.join(claim, deadline);
      return new Place() {
        @Override
        public Attempt await(Deadline until) throws InterruptedException {
          while (true) {
            LockState state = inspect(claim.name(), until);
            Duration left = state.remaining().orElse(Duration.ZERO).minus(BEFORE_END);
            if (left.isNegative()
                && state.waiters().indexOf(claim.label()) == 0
                && expired.add(claim.name())) {
              throw new LockUnavailableException("memory", endpoint(), "the place has ended", null);
            }
            Attempt attempt =
                right.await(until.atMost(left.isNegative() ? Duration.ofMillis(10) : left));
            if (attempt instanceof Attempt.Granted || until.hasPassed()) {
              return attempt;
            }
          }
        }

        @Override
        public void close() {
          right.close();
        }
      };
    }
  }

  private static LockBackend placeThatEnds(QueueingBackend right, TimeSource time) {
    return new ForwardingQueue(right) {
      @Override
      public Place join(Claim claim, Deadline deadline) throws InterruptedException {
        Place place = super.join(claim, deadline);
        Deadline end = Deadline.in(time, claim.ttl());
        return AlteredClaims.altered(
            place,
            until -> {
              Attempt attempt = place.await(until.atMost(end.remaining()));
              if (attempt instanceof Attempt.Busy && end.hasPassed()) {
                throw new LockUnavailableException(
                    "memory", endpoint(), "the place has ended", null);
              }
              return attempt;
            });
      }
    };
  }

  private static MemoryMutant countedFromReply() {
    Map<String, LockBackend> first = new ConcurrentHashMap<>(); // shared by all clients
    return MemoryMutant.ofBackend(
        (right, time) ->
            new ForwardingQueue(right) {
              @Override
              public Place join(Claim claim, Deadline deadline) throws InterruptedException {
                Place place = super.join(claim, deadline);
                boolean slow = first.computeIfAbsent(claim.name(), name -> this) == this;
                return AlteredClaims.altered(
                    place,
                    until -> {
                      Attempt attempt = place.await(until);
                      if (slow && attempt instanceof Attempt.Granted granted) {
                        new WakeUp(time).await(Deadline.in(time, Duration.ofMillis(300)));
                        long validUntil = time.nanoTime() + claim.ttl().toNanos();
                        return new Attempt.Granted(granted.grant().validUntil(validUntil));
                      }
                      return attempt;
                    });
              }
            });
  }

  private static LockBackend renewalNotSent(QueueingBackend right, TimeSource time) {
    return new ForwardingQueue(right) {
      @Override
      public Renewal renew(Grant grant, Deadline deadline) {
        return new Renewal.Renewed(time.nanoTime() + grant.effectiveTtl().toNanos());
      }
    };
  }

  private static LockBackend renewalThatTakes(QueueingBackend right) {
    return new ForwardingQueue(right) {
      @Override
      public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
        Renewal renewal = super.renew(grant, deadline);
        return renewal instanceof Renewal.Lost
                && tryAcquire(grant.claim(), deadline) instanceof Attempt.Granted taken
            ? new Renewal.Renewed(taken.grant().validUntil())
            : renewal;
      }
    };
  }

  private static LockBackend renewalAfterRelease(QueueingBackend right) {
    return new ForwardingQueue(right) {
      private final Set<String> renewed = ConcurrentHashMap.newKeySet();

      @Override
      public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
        if (grant.effectiveTtl().compareTo(Duration.ofSeconds(10)) < 0) {
          renewed.add(grant.claim().id());
        }
        return super.renew(grant, deadline);
      }

      @Override
      public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
        boolean released = super.release(claim, deadline);
        if (renewed.remove(claim.id())) {
          Claim late =
              new Claim(
                  claim.name(),
                  claim.id(),
                  Duration.ofSeconds(6),
                  true,
                  claim.label(),
                  System.nanoTime());
          Attempt unused = tryAcquire(late, deadline);
        }
        return released;
      }
    };
  }
}
