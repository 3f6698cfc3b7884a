package dev.interlock.tck.specimen;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Fencing tokens that do not fence. */
final class TokenMutants {
  private TokenMutants() {}

  static List<Specimen> all() {
    return MemorySpecimens.of(
        Specimen.mutant("token constant")
            .fault("Every grant has the same token.")
            .harness(() -> counting(new Numbers(number -> 1L)))
            .refusedBy("EXCL-01", "token")
            .refusedBy("FENCE-01", "from one client to the next")
            .refusedBy("FENCE-02", "after idle time")
            .refusedBy("LOSS-02", "token")
            .refusedBy("ADMIN-02", "the token does not tell them apart")
            .refusedBy("FAULT-01", "token")
            .refusedBy("MULTI-03", "the token did not rise"),
        Specimen.mutant("token repeated")
            .fault("Two grants in a row have the same token.")
            .harness(() -> counting(new Numbers(number -> (number + 1) / 2)))
            .refusedBy("EXCL-01", "token")
            .refusedBy("FENCE-01", "from one client to the next")
            .refusedBy("FENCE-02", "after idle time")
            .refusedBy("LOSS-02", "token")
            .refusedBy("ADMIN-02", "the token does not tell them apart")
            .refusedBy("FAULT-01", "token")
            .refusedBy("MULTI-03", "the token did not rise"),
        Specimen.mutant("token negative")
            .fault("Tokens rise, but start far below zero.")
            .harness(() -> counting(new Numbers(number -> number - 1_000_000)))
            .refusedBy("FENCE-01", "from one client to the next")
            .refusedBy("FENCE-05", "not positive")
            .refusedBy("FENCE-06", "not positive")
            .refusedBy("API-03", "expected")
            .refusedBy("MULTI-03", "expected"),
        Specimen.mutant("token per client")
            .fault("Every client has its own counter.")
            .harness(
                () -> {
                  Map<String, Long> shown = new ConcurrentHashMap<>();
                  return MemoryMutant.ofBackend(
                      right -> new Counting(right, new Numbers(number -> number), shown));
                })
            .refusedBy("EXCL-01", "token")
            .refusedBy("FENCE-01", "from one client to the next")
            .refusedBy("FENCE-02", "after idle time")
            .refusedBy("LOSS-02", "token")
            .refusedBy("ADMIN-02", "the token does not tell them apart")
            .refusedBy("FAULT-01", "token"),
        Specimen.mutant("token reset when idle")
            .fault("The counter of a name is deleted when the last client that used it has closed.")
            .harness(
                () -> {
                  Numbers numbers = new Numbers(number -> number);
                  Map<String, Long> shown = new ConcurrentHashMap<>();
                  return MemoryMutant.ofBackend(
                      right ->
                          new Counting(right, numbers, shown) {
                            @Override
                            Grant received(Grant grant) {
                              numbers.addUser(grant.claim().name(), this);
                              return super.received(grant);
                            }

                            @Override
                            public void close() {
                              super.close();
                              numbers.removeUser(this);
                            }
                          });
                })
            .refusedBy("FENCE-02", "after idle time"),
        Specimen.mutant("token reset after two idle TTLs")
            .fault("The counter of a name expires two TTLs after its last use.")
            .harness(
                () -> {
                  Numbers numbers = new Numbers(number -> number);
                  Map<String, Long> shown = new ConcurrentHashMap<>();
                  Map<String, Long> expiry = new ConcurrentHashMap<>();
                  return MemoryMutant.ofBackend(
                      right -> new ExpiringCounter(right, numbers, shown, expiry));
                })
            .refusedBy("FENCE-02", "after idle time"),
        Specimen.mutant("token reset by force")
            .fault("A forced release deletes the counter together with the lock.")
            .harness(
                () -> {
                  Numbers numbers = new Numbers(number -> number);
                  Map<String, Long> shown = new ConcurrentHashMap<>();
                  return MemoryMutant.ofBackend(
                      right ->
                          new Counting(right, numbers, shown) {
                            @Override
                            public boolean forceRelease(String name, Deadline deadline)
                                throws InterruptedException {
                              boolean released = super.forceRelease(name, deadline);
                              numbers.reset(name);
                              return released;
                            }
                          });
                })
            .refusedBy("ADMIN-02", "the token does not tell them apart")
            .refusedBy("FAULT-01", "token")
            .refusedBy("FENCE-02", "after idle time"),
        Specimen.mutant("token read when asked for")
            .fault("A lease shows the newest token of its name, not the one that it was granted.")
            .harness(
                () -> {
                  Map<String, Long> newest = new ConcurrentHashMap<>();
                  return MemoryMutant.ofLease(
                      lease -> {
                        newest.merge(lease.name(), lease.fencingToken(), Math::max);
                        return new ForwardingLease(lease) {
                          @Override
                          public long fencingToken() {
                            return newest.getOrDefault(name(), 0L);
                          }
                        };
                      });
                })
            .refusedBy("FENCE-01", "token")
            .refusedBy("FENCE-03", "after the grant to a successor")
            .refusedBy("ADMIN-02", "the token does not tell them apart"),
        Specimen.mutant("token made up")
            .fault("The backend does not declare FENCING, but leases have a token.")
            .harness(TokenMutants::madeUp)
            .refusedBy("FENCE-05", "a token was made up")
            .refusedBy("MULTI-03", "UnsupportedOperationException"));
  }

  /** The altered counters of a store, by name. */
  private static final class Numbers {
    private final Function<Long, Long> alteration;
    private final Map<String, Long> counters = new HashMap<>();
    private final Map<String, Set<Object>> users = new HashMap<>();

    Numbers(Function<Long, Long> alteration) {
      this.alteration = alteration;
    }

    synchronized long next(String name) {
      return alteration.apply(counters.merge(name, 1L, Long::sum));
    }

    synchronized void reset(String name) {
      counters.remove(name);
    }

    synchronized void addUser(String name, Object user) {
      users.computeIfAbsent(name, unused -> new HashSet<>()).add(user);
    }

    synchronized void removeUser(Object user) {
      users.forEach(
          (name, ofName) -> {
            if (ofName.remove(user) && ofName.isEmpty()) {
              counters.remove(name);
            }
          });
    }
  }

  private static MemoryMutant counting(Numbers numbers) {
    Map<String, Long> shown = new ConcurrentHashMap<>();
    return MemoryMutant.ofBackend(right -> new Counting(right, numbers, shown));
  }

  private static class Counting extends AlteredClaims {
    private final Numbers numbers;
    private final Map<String, Long> shown;

    Counting(QueueingBackend right, Numbers numbers, Map<String, Long> shown) {
      super(right);
      this.numbers = numbers;
      this.shown = shown;
    }

    @Override
    Grant received(Grant grant) {
      String name = grant.claim().name();
      long token = numbers.next(name);
      shown.put(name, token);
      return withToken(grant, token);
    }

    @Override
    long shown(String name, long token) {
      return shown.getOrDefault(name, token);
    }
  }

  private static final class ExpiringCounter extends Counting {
    private final Numbers numbers;

    /** When each counter expires; shared by all clients. */
    private final Map<String, Long> expiry;

    ExpiringCounter(
        QueueingBackend right, Numbers numbers, Map<String, Long> shown, Map<String, Long> expiry) {
      super(right, numbers, shown);
      this.numbers = numbers;
      this.expiry = expiry;
    }

    private void use(Claim claim) {
      expiry.put(claim.name(), System.nanoTime() + 2 * claim.ttl().toNanos());
    }

    @Override
    Grant received(Grant grant) {
      Long end = expiry.get(grant.claim().name());
      if (end != null && System.nanoTime() - end > 0) {
        numbers.reset(grant.claim().name());
      }
      use(grant.claim());
      return super.received(grant);
    }

    @Override
    public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
      use(grant.claim());
      return super.renew(grant, deadline);
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
      use(claim);
      return super.release(claim, deadline);
    }
  }

  private static MemoryMutant madeUp() {
    return MemoryMutant.ofClient(
        client ->
            new ForwardingClient(client) {
              @Override
              public BackendInfo backend() {
                BackendInfo info = super.backend();
                return BackendInfoBuilder.from(info)
                    .capabilities(
                        info.capabilities().stream()
                            .filter(capability -> capability != Capability.FENCING)
                            .collect(Collectors.toSet()))
                    .build();
              }
            });
  }
}
