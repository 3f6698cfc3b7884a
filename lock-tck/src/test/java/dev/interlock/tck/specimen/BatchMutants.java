package dev.interlock.tck.specimen;

import dev.interlock.LossReason;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Stores that renew many leases at once, wrongly. */
final class BatchMutants {
  private BatchMutants() {}

  static List<Specimen> all() {
    return List.of(
        Specimen.mutant("batch by name")
            .fault("Of several grants of one name, a batch renews one, and reports all as renewed.")
            .harness(() -> MemoryMutant.ofSilentBackend(OnePerName::new))
            .refusedBy("LEASE-02", "one of many leases that are renewed together")
            .refusedBy("LOSS-01", "one of many leases that are renewed together")
            .build(),
        Specimen.mutant("batch answered in another order")
            .fault("The answers to a batch are in another order than its grants.")
            .harness(
                () ->
                    MemoryMutant.ofSilentBackend(
                        right -> new Batched(right, BatchMutants::reversed)))
            .refusedBy("LEASE-02", "one of many leases that are renewed together")
            .refusedBy("LOSS-01", "one of many leases that are renewed together")
            .build(),
        Specimen.mutant("batch read up to the first loss")
            .fault("After the first grant that is gone, a batch reports the others as renewed.")
            .harness(
                () ->
                    MemoryMutant.ofSilentBackend(
                        right -> new Batched(right, BatchMutants::readToFirstLoss)))
            .refusedBy("LEASE-02", "not all were reported within a renewal interval")
            .refusedBy("LOSS-01", "not all were reported within a renewal interval")
            .build(),
        Specimen.mutant("batch with one TTL")
            .fault("A batch renews all grants with the TTL of its first.")
            .harness(() -> MemoryMutant.ofBackend(TtlOfTheFirst::new))
            .refusedBy("LEASE-01", "of leases that are renewed together, one is valid for")
            .refusedBy("LEASE-02", "of leases that are renewed together, one is valid for")
            .build(),
        Specimen.mutant("batch cut after a hundred")
            .fault("A batch renews its first hundred grants, and reports all as renewed.")
            .harness(() -> MemoryMutant.ofBackend(FirstHundred::new))
            .refusedBy("LEASE-01", "of leases that are renewed together, one is valid for")
            .refusedBy("LEASE-02", "of leases that are renewed together, one is valid for")
            .build(),
        Specimen.mutant("batch undone by a loss")
            .fault("If a grant of a batch is gone, none is renewed; the others count as renewed.")
            .harness(() -> MemoryMutant.ofSilentBackend(UndoneByLoss::new))
            .refusedBy("LEASE-01", "of leases that are renewed together, one is valid for")
            .refusedBy("LEASE-02", "of leases that are renewed together, one is valid for")
            .build());
  }

  /** Renews up to 256 leases at once, and gives wrong answers. */
  private static class Batched extends ForwardingQueue {
    private final UnaryOperator<List<Renewal>> wrong;

    Batched(QueueingBackend right, UnaryOperator<List<Renewal>> wrong) {
      super(right);
      this.wrong = wrong;
    }

    @Override
    public final int maxGrantsPerRenewal() {
      return 256;
    }

    @Override
    public List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
        throws InterruptedException {
      return wrong.apply(new ArrayList<>(super.renewAll(grants, deadline)));
    }
  }

  private static final class OnePerName extends Batched {
    OnePerName(QueueingBackend right) {
      super(right, outcomes -> outcomes);
    }

    @Override
    public List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
        throws InterruptedException {
      Map<String, Renewal> byName = new HashMap<>();
      List<Renewal> outcomes = new ArrayList<>();
      for (Grant grant : grants) {
        String name = grant.claim().name();
        if (!byName.containsKey(name)) {
          byName.put(name, renew(grant, deadline));
        }
        outcomes.add(byName.get(name));
      }
      return outcomes;
    }
  }

  private static final class TtlOfTheFirst extends Batched {
    TtlOfTheFirst(QueueingBackend right) {
      super(right, outcomes -> outcomes);
    }

    @Override
    public List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
        throws InterruptedException {
      List<Grant> sent = new ArrayList<>();
      for (Grant grant : grants) {
        Claim claim = AlteredClaims.withTtl(grant.claim(), grants.get(0).claim().ttl());
        sent.add(Grant.forTtl(claim, grant.token()));
      }
      List<Renewal> outcomes = super.renewAll(sent, deadline);
      return outcomes.stream()
          .map(outcome -> outcome instanceof Renewal.Lost ? outcome : new Renewal.Confirmed())
          .toList();
    }
  }

  private static final class FirstHundred extends Batched {
    FirstHundred(QueueingBackend right) {
      super(right, outcomes -> outcomes);
    }

    @Override
    public List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
        throws InterruptedException {
      int size = Math.min(grants.size(), 100);
      List<Renewal> outcomes = new ArrayList<>(super.renewAll(grants.subList(0, size), deadline));
      outcomes.addAll(Collections.nCopies(grants.size() - size, new Renewal.Confirmed()));
      return outcomes;
    }
  }

  private static final class UndoneByLoss extends Batched {
    UndoneByLoss(QueueingBackend right) {
      super(right, outcomes -> outcomes);
    }

    @Override
    public List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
        throws InterruptedException {
      List<Renewal> outcomes = new ArrayList<>();
      for (Grant grant : grants) {
        boolean isHeld = inspect(grant.claim().name(), deadline).isHeld();
        outcomes.add(
            isHeld ? new Renewal.Confirmed() : new Renewal.Lost(LossReason.TAKEN, "it is gone"));
      }
      return outcomes.stream().allMatch(Renewal.Confirmed.class::isInstance)
          ? super.renewAll(grants, deadline)
          : outcomes;
    }
  }

  private static List<Renewal> reversed(List<Renewal> outcomes) {
    Collections.reverse(outcomes);
    return outcomes;
  }

  private static List<Renewal> readToFirstLoss(List<Renewal> outcomes) {
    boolean lost = false;
    for (int i = 0; i < outcomes.size(); i++) {
      if (lost) {
        outcomes.set(i, new Renewal.Confirmed());
      }
      lost |= outcomes.get(i) instanceof Renewal.Lost;
    }
    return outcomes;
  }
}
