package dev.interlock.tck.specimen;

import dev.interlock.LossReason;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** Stores that renew many leases at once, wrongly. */
final class BatchMutants {
  private BatchMutants() {}

  static List<Specimen> all() {
    return List.of(
        Specimen.mutant("batch by name")
            .fault("Of several grants of one name, a batch renews one, and reports all as renewed.")
            .harness(() -> MemoryMutant.ofSilentBackend(batched(BatchMutants::onePerName)))
            .refusedBy("LEASE-02", "one of many leases that are renewed together")
            .refusedBy("LOSS-01", "one of many leases that are renewed together")
            .build(),
        Specimen.mutant("batch answered in another order")
            .fault("The answers to a batch are in another order than its grants.")
            .harness(() -> MemoryMutant.ofSilentBackend(batched(BatchMutants::reversed)))
            .refusedBy("LEASE-02", "one of many leases that are renewed together")
            .refusedBy("LOSS-01", "one of many leases that are renewed together")
            .build(),
        Specimen.mutant("batch read up to the first loss")
            .fault("After the first grant that is gone, a batch reports the others as renewed.")
            .harness(() -> MemoryMutant.ofSilentBackend(batched(BatchMutants::readToFirstLoss)))
            .refusedBy("LEASE-02", "not all were reported within a renewal interval")
            .refusedBy("LOSS-01", "not all were reported within a renewal interval")
            .build(),
        Specimen.mutant("batch with one TTL")
            .fault("A batch renews all grants with the TTL of its first.")
            .harness(() -> MemoryMutant.ofBackend(batched(BatchMutants::withTtlOfTheFirst)))
            .refusedBy("LEASE-01", "of grants that are renewed together, one has a TTL of")
            .refusedBy("LEASE-02", "of grants that are renewed together, one has a TTL of")
            .build(),
        Specimen.mutant("batch with one TTL for each name")
            .fault("A batch renews all grants of a name with the TTL of the last of them.")
            .harness(() -> MemoryMutant.ofBackend(batched(BatchMutants::withTtlOfTheName)))
            .refusedBy("LEASE-01", "of grants that are renewed together, one has a TTL of")
            .refusedBy("LEASE-02", "of grants that are renewed together, one has a TTL of")
            .build(),
        Specimen.mutant("batch cut after a hundred")
            .fault("A batch renews its first hundred grants, and reports all as renewed.")
            .harness(() -> MemoryMutant.ofBackend(batched(BatchMutants::firstHundred)))
            .refusedBy("LEASE-01", "of grants that are renewed together, one has a TTL of")
            .refusedBy("LEASE-02", "of grants that are renewed together, one has a TTL of")
            .build(),
        Specimen.mutant("batch undone by a loss")
            .fault("If a grant of a batch is gone, none is renewed; the others count as renewed.")
            .harness(() -> MemoryMutant.ofSilentBackend(batched(BatchMutants::undoneByLoss)))
            .refusedBy("LEASE-01", "of grants that are renewed together, one has a TTL of")
            .refusedBy("LEASE-02", "of grants that are renewed together, one has a TTL of")
            .build());
  }

  /** A wrong way to renew many leases at once. */
  private interface Batch {
    List<Renewal> renewAll(QueueingBackend right, List<Grant> grants, Deadline deadline)
        throws InterruptedException;
  }

  private static Function<QueueingBackend, LockBackend> batched(Batch wrong) {
    return right ->
        new ForwardingQueue(right) {
          @Override
          public int maxGrantsPerRenewal() {
            return 256;
          }

          @Override
          public List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
              throws InterruptedException {
            return wrong.renewAll(right, grants, deadline);
          }
        };
  }

  private static List<Renewal> onePerName(
      QueueingBackend right, List<Grant> grants, Deadline deadline) throws InterruptedException {
    Map<String, Renewal> byName = new HashMap<>();
    List<Renewal> outcomes = new ArrayList<>();
    for (Grant grant : grants) {
      String name = grant.claim().name();
      if (!byName.containsKey(name)) {
        byName.put(name, right.renew(grant, deadline));
      }
      outcomes.add(byName.get(name));
    }
    return outcomes;
  }

  private static List<Renewal> reversed(
      QueueingBackend right, List<Grant> grants, Deadline deadline) throws InterruptedException {
    List<Renewal> outcomes = new ArrayList<>(right.renewAll(grants, deadline));
    Collections.reverse(outcomes);
    return outcomes;
  }

  private static List<Renewal> readToFirstLoss(
      QueueingBackend right, List<Grant> grants, Deadline deadline) throws InterruptedException {
    List<Renewal> outcomes = new ArrayList<>(right.renewAll(grants, deadline));
    boolean lost = false;
    for (int i = 0; i < outcomes.size(); i++) {
      if (lost) {
        outcomes.set(i, new Renewal.Confirmed());
      }
      lost |= outcomes.get(i) instanceof Renewal.Lost;
    }
    return outcomes;
  }

  private static List<Renewal> withTtlOfTheFirst(
      QueueingBackend right, List<Grant> grants, Deadline deadline) throws InterruptedException {
    return withTtls(right, grants, deadline, grant -> grants.get(0));
  }

  private static List<Renewal> withTtlOfTheName(
      QueueingBackend right, List<Grant> grants, Deadline deadline) throws InterruptedException {
    Map<String, Grant> last = new HashMap<>();
    grants.forEach(grant -> last.put(grant.claim().name(), grant));
    return withTtls(right, grants, deadline, grant -> last.get(grant.claim().name()));
  }

  private static List<Renewal> withTtls(
      QueueingBackend right, List<Grant> grants, Deadline deadline, UnaryOperator<Grant> source)
      throws InterruptedException {
    List<Grant> sent = new ArrayList<>();
    for (Grant grant : grants) {
      Claim claim = AlteredClaims.withTtl(grant.claim(), source.apply(grant).claim().ttl());
      sent.add(Grant.forTtl(claim, grant.token()));
    }
    return right.renewAll(sent, deadline).stream()
        .map(outcome -> outcome instanceof Renewal.Lost ? outcome : new Renewal.Confirmed())
        .toList();
  }

  private static List<Renewal> firstHundred(
      QueueingBackend right, List<Grant> grants, Deadline deadline) throws InterruptedException {
    int size = Math.min(grants.size(), 100);
    List<Renewal> outcomes = new ArrayList<>(right.renewAll(grants.subList(0, size), deadline));
    outcomes.addAll(Collections.nCopies(grants.size() - size, new Renewal.Confirmed()));
    return outcomes;
  }

  private static List<Renewal> undoneByLoss(
      QueueingBackend right, List<Grant> grants, Deadline deadline) throws InterruptedException {
    List<Renewal> outcomes = new ArrayList<>();
    for (Grant grant : grants) {
      boolean isHeld = right.inspect(grant.claim().name(), deadline).isHeld();
      outcomes.add(
          isHeld ? new Renewal.Confirmed() : new Renewal.Lost(LossReason.TAKEN, "it is gone"));
    }
    return outcomes.stream().allMatch(Renewal.Confirmed.class::isInstance)
        ? right.renewAll(grants, deadline)
        : outcomes;
  }
}
