package dev.interlock.storm.verdict;

import com.google.gson.annotations.SerializedName;
import dev.interlock.Fault;
import dev.interlock.spi.Grant;
import dev.interlock.storm.nemesis.FaultKind;
import dev.interlock.storm.nemesis.InjectedFault;
import dev.interlock.storm.verdict.RecordedHistory.Lease;
import dev.interlock.storm.workers.Client.Stop;
import dev.interlock.storm.workers.Entry;
import dev.interlock.storm.workers.GuardedStore.Writes;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.history.HistoryChecker;
import dev.interlock.tck.history.Violation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Decides which rules held in a storm.
 *
 * <ul>
 *   <li>EXCL-01: what was held of a name never exceeded its capacity, unless a fault outside the
 *       failure model explains it; see {@link #mayExplain}. Two leases of a lock exceed it, as do a
 *       writer and a reader, or more permits than the semaphore has.
 *   <li>FENCE-01: tokens are unique and rise under every fault, and expose every overlap. After a
 *       fault outside the failure model, a lease counts as requested when its place in the queue
 *       may have been entered.
 *   <li>LEASE-04: no renewal was confirmed that was sent after a successor's grant. A confirmed
 *       renewal makes a lease valid for at most an effective TTL from when it was sent. So a lease
 *       that is valid for longer than an effective TTL after its successor's grant was renewed
 *       after that grant. This is tolerated while a fault outside the failure model may make two
 *       primaries at once, because neither knows of the other's grants.
 *   <li>LOSS-02 and LOSS-03: losses were reported by the end of validity plus the bound, not
 *       counting times in which the client's process was stopped. Nothing but losses was reported.
 *   <li>FENCE-04: no guarded write was lost.
 *   <li>The rules that clients themselves saw broken, and REL-03: there is no residue.
 * </ul>
 */
public final class Verdict {
  private static final int MAX_RECOVERIES = 20;

  private static final Set<String> LEADER_FAULTS =
      Stream.of(FaultKind.values())
          .filter(
              kind -> kind.fault() == Fault.ASYNC_FAILOVER || kind.fault() == Fault.LEADER_CHANGED)
          .map(FaultKind::label)
          .collect(Collectors.toUnmodifiableSet());

  private static final int MAX_FINDINGS_PER_RULE = 5;

  /**
   * A violation of the contract.
   *
   * @param rule the rule of the contract that was broken
   * @param what the observation; may have several lines
   */
  public record Finding(String rule, String what) {}

  /**
   * The numbers of operations in the histories of the clients.
   *
   * @param grants leases that were acquired
   * @param handedOver how many of these came by a handoff inside a process
   * @param shared how many did not exclude all others, such as those of readers
   * @param released leases that were released
   * @param renewals explicit renewals that were confirmed
   * @param abandoned leases left to expire on purpose
   * @param cancelled attempts that were cancelled on purpose
   * @param timedOut attempts that timed out while another client held the lock
   * @param unavailable attempts that failed because the store could not be reached
   * @param lost leases that were lost
   * @param reported how many of these losses were reported in time
   */
  public record Operations(
      long grants,
      long handedOver,
      long shared,
      long released,
      long renewals,
      long abandoned,
      long cancelled,
      long timedOut,
      long unavailable,
      long lost,
      long reported) {}

  /**
   * The time from the end of a fault until a lock was acquired again.
   *
   * @param fault the kind of fault
   * @param target the target of the fault
   * @param overAt the end of the fault
   * @param name the lock's name
   * @param client the client that acquired the lock
   * @param took the time from the end of the fault until the grant
   */
  public record Recovery(
      String fault,
      String target,
      Duration overAt,
      String name,
      String client,
      @SerializedName("seconds") Duration took) {}

  /**
   * The time in which one lease was certainly held, in nanoseconds.
   *
   * @param name the lock's name
   * @param client its holder, such as {@code client-2}
   * @param from when it was granted
   * @param until when it ended
   */
  public record HeldLease(String name, String client, long from, long until) {}

  private final RecordedHistory records;
  private final List<InjectedFault> faults;
  private final long bound;
  private final long origin;
  private final List<Finding> findings = new ArrayList<>();
  private final List<InjectedFault> outside;
  private long overlapsOutside;
  private long overlapsExposed;
  private @Nullable Violation counterExample;

  /**
   * Prepares a verdict.
   *
   * @param records the records of the clients
   * @param faults the injected faults
   * @param bound how late anything may be
   * @param origin {@link System#nanoTime()} at the beginning of the storm
   */
  public Verdict(RecordedHistory records, List<InjectedFault> faults, Duration bound, long origin) {
    this.records = records;
    this.faults = faults;
    this.bound = bound.toNanos();
    this.origin = origin;
    this.outside = faults.stream().filter(fault -> !fault.insideModel()).toList();
  }

  /** Checks all rules. Must be called once. */
  public Verdict decide(Map<String, List<Stop>> stops, Writes writes, List<String> residue) {
    checkExclusion();
    checkTokens();
    checkRenewals();
    checkLosses(stops);
    if (writes.guardedLost() != 0) {
      addFinding("FENCE-04", writes.guardedLost() + " writes guarded by tokens were lost");
    }
    for (Entry.RuleBroken broken : records.entries(Entry.RuleBroken.class)) {
      addFinding(broken.rule(), broken.what());
    }
    if (!residue.isEmpty()) {
      addFinding(
          "REL-03",
          "%d entries remain on the store: %s"
              .formatted(
                  residue.size(),
                  residue.stream().limit(MAX_FINDINGS_PER_RULE).collect(Collectors.joining("; "))));
    }
    if (records.leases.isEmpty()) {
      addFinding("FAULT-01", "no client acquired a lock");
    }
    return this;
  }

  public List<Finding> findings() {
    return List.copyOf(findings);
  }

  /** {@return how many leases overlapped because of a fault outside the failure model} */
  public long overlapsOutside() {
    return overlapsOutside;
  }

  /** {@return how many of these overlaps the tokens expose} */
  public long overlapsExposed() {
    return overlapsExposed;
  }

  /** {@return the shortest counter-example to exclusion or the order of tokens, as text} */
  public @Nullable String counterExample() {
    return counterExample == null ? null : counterExample.toString();
  }

  private void addFinding(String rule, String what) {
    if (findings.stream().filter(one -> one.rule().equals(rule)).count() < MAX_FINDINGS_PER_RULE) {
      findings.add(new Finding(rule, what));
    }
  }

  private void addViolation(String rule, Violation violation) {
    addFinding(rule, violation.toString());
    if (counterExample == null || distance(violation) < distance(counterExample)) {
      counterExample = violation;
    }
  }

  private static long distance(Violation violation) {
    return violation.second().at() - violation.first().at();
  }

  private Map<String, List<Lease>> byName() {
    return records.leases.stream()
        .collect(
            Collectors.groupingBy(lease -> lease.grant.name(), TreeMap::new, Collectors.toList()));
  }

  /** {@return the beginning of a fault, by the clock of the leases} */
  private long from(InjectedFault fault) {
    return origin + fault.from().toNanos();
  }

  private long until(InjectedFault fault) {
    return origin + fault.until().toNanos();
  }

  /** Compares each lease with the earlier ones that are still valid. */
  private void checkExclusion() {
    List<Violation> violations = new ArrayList<>();
    for (List<Lease> leases : byName().values()) {
      PriorityQueue<Lease> valid = new PriorityQueue<>(Comparator.comparingLong(Lease::until));
      long heldWeight = 0;
      for (Lease lease : leases) {
        if (lease.until() <= lease.from()) {
          continue;
        }
        for (Lease first = valid.peek();
            first != null && first.until() <= lease.from();
            first = valid.peek()) {
          valid.remove();
          heldWeight -= first.grant.weight();
        }
        if (!valid.isEmpty() && heldWeight + lease.grant.weight() > lease.grant.capacity()) {
          Lease longest = Collections.max(valid, Comparator.comparingLong(Lease::until));
          Violation overlap =
              new Violation(Violation.Kind.OVERLAP, longest.grant, longest.until(), lease.grant);
          if (isExplained(longest, lease)) {
            overlapsOutside++;
            if (lease.token() != longest.token()) {
              overlapsExposed++;
            } else {
              addViolation("FENCE-01", overlap);
            }
          } else {
            violations.add(overlap);
          }
        }
        valid.add(lease);
        heldWeight += lease.grant.weight();
      }
    }
    violations.sort(Comparator.comparingLong(Verdict::distance));
    violations.forEach(violation -> addViolation("EXCL-01", violation));
  }

  private boolean isExplained(Lease first, Lease second) {
    return outside.stream().anyMatch(fault -> mayExplain(fault, first, second));
  }

  /**
   * {@return whether a fault may be the reason that the second lease was granted while the first
   * was valid} If so, the second was granted after the fault began and before clients must have
   * noticed all losses from it, and the first was requested before the fault ended.
   */
  private boolean mayExplain(InjectedFault fault, Lease first, Lease second) {
    long lossesNoticed = until(fault) + records.effectiveTtl + bound;
    return second.from() >= from(fault)
        && second.from() <= lossesNoticed
        && first.grant.requestedAt() <= until(fault) + bound;
  }

  /** Checks grants before the first fault outside the model as strictly as possible. */
  private void checkTokens() {
    long first = outside.stream().mapToLong(this::from).min().orElse(Long.MAX_VALUE);
    Set<String> before =
        records.leases.stream()
            .filter(lease -> lease.from() < first)
            .map(lease -> lease.grant.lease())
            .collect(Collectors.toSet());
    checkTokens(
        HistoryChecker.withinFailureModel(),
        records.events.stream().filter(event -> before.contains(event.lease())).toList());
    if (!outside.isEmpty()) {
      checkTokens(HistoryChecker.outsideFailureModel(), records.eventsFromPlaces);
    }
  }

  private void checkTokens(HistoryChecker checker, List<Event> events) {
    for (Violation violation : checker.check(events)) {
      if (violation.kind() != Violation.Kind.OVERLAP) {
        addViolation("FENCE-01", violation);
      }
    }
  }

  private void checkRenewals() {
    for (List<Lease> leases : byName().values()) {
      List<Lease> byTokenDescending =
          leases.stream()
              .filter(lease -> lease.token() != 0)
              .sorted(Comparator.comparingLong(Lease::token).reversed())
              .toList();
      // The earliest grants of later turns: of all leases, of those that are whole, of this turn.
      Lease earliest = null;
      Lease earliestWhole = null;
      Lease earliestOfTurn = null;
      long turn = -1;
      for (Lease lease : byTokenDescending) {
        if (lease.token() / Grant.LEASES_PER_GRANT != turn) {
          turn = lease.token() / Grant.LEASES_PER_GRANT;
          earliest = earlier(earliest, earliestOfTurn);
          earliestWhole =
              earliestOfTurn != null && earliestOfTurn.isWhole()
                  ? earlier(earliestWhole, earliestOfTurn)
                  : earliestWhole;
          earliestOfTurn = null;
        }
        earliestOfTurn =
            mayHaveAnotherPrimary(lease) ? earliestOfTurn : earlier(earliestOfTurn, lease);
        // Leases that are held together are renewed side by side.
        Lease successor = lease.isWhole() ? earliest : earliestWhole;
        if (successor != null
            && successor.from() > lease.from()
            && lease.validUntil - records.effectiveTtl > successor.from()) {
          Violation violation =
              new Violation(Violation.Kind.OVERLAP, lease.grant, lease.until(), successor.grant);
          if (counterExample == null) {
            counterExample = violation;
          }
          addFinding(
              "LEASE-04", "a lease was renewed after its successor had been granted: " + violation);
        }
      }
    }
  }

  /** {@return whether there may have been two primaries at the time of the grant} */
  private boolean mayHaveAnotherPrimary(Lease lease) {
    return outside.stream()
        .filter(fault -> LEADER_FAULTS.contains(fault.kind()))
        .anyMatch(fault -> lease.from() >= from(fault) && lease.from() <= until(fault) + bound);
  }

  private static @Nullable Lease earlier(@Nullable Lease a, @Nullable Lease b) {
    if (a == null || b == null) {
      return a == null ? b : a;
    }
    return a.from() <= b.from() ? a : b;
  }

  private void checkLosses(Map<String, List<Stop>> stops) {
    for (Lease lease : records.leases) {
      if (!lease.isLost()) {
        continue;
      }
      if (lease.isReleased()) {
        addFinding("LOSS-03", lease.grant + " was released but also reported as lost");
      }
      long late = lease.reported - lease.validUntil;
      for (Stop stop : stops.getOrDefault(lease.client, List.of())) {
        long from = Math.max(stop.from(), lease.validUntil);
        late -= Math.max(0, Math.min(stop.until(), lease.reported) - from);
      }
      if (late > bound) {
        addFinding(
            "LOSS-02",
            lease.grant
                + " was reported as lost "
                + late / 1_000_000
                + " ms after its validity ended");
      }
    }
    for (Entry.LossNotReported unreported : records.entries(Entry.LossNotReported.class)) {
      Duration limit = Duration.ofNanos(bound);
      addFinding(
          "LOSS-02",
          "the loss of lease " + unreported.lease() + " was not reported within " + limit);
    }
  }

  /** {@return the numbers of operations} */
  public Operations operations() {
    Map<Entry.Why, Long> byReason = new LinkedHashMap<>();
    for (Entry.NoLease none : records.entries(Entry.NoLease.class)) {
      byReason.merge(none.why(), 1L, Long::sum);
    }
    return new Operations(
        records.leases.size(),
        count(lease -> lease.token() % Grant.LEASES_PER_GRANT != 0),
        count(lease -> !lease.isWhole()),
        count(Lease::isReleased),
        records.entries(Entry.Renewed.class).size(),
        records.entries(Entry.Abandoned.class).size(),
        byReason.getOrDefault(Entry.Why.CANCELLED, 0L),
        byReason.getOrDefault(Entry.Why.BUSY, 0L),
        byReason.getOrDefault(Entry.Why.UNAVAILABLE, 0L),
        count(Lease::isLost) + records.entries(Entry.LossNotReported.class).size(),
        count(Lease::isLost));
  }

  private long count(Predicate<Lease> condition) {
    return records.leases.stream().filter(condition).count();
  }

  /** {@return all leases, in the order of their grants} */
  public List<HeldLease> heldLeases() {
    return records.leases.stream()
        .map(
            lease ->
                new HeldLease(
                    lease.grant.name(),
                    lease.client,
                    lease.from() - origin,
                    lease.until() - origin))
        .toList();
  }

  /**
   * Returns the slowest recoveries. A recovery lasts from the end of a fault that took effect to
   * the next grant of a name, or to the next grant to the client that the fault hit.
   */
  public List<Recovery> slowest() {
    List<Recovery> recoveries = new ArrayList<>();
    Map<String, NavigableMap<Long, Lease>> byName = byTime(lease -> lease.grant.name());
    Map<String, NavigableMap<Long, Lease>> byClient = byTime(lease -> lease.client);
    for (InjectedFault fault : faults) {
      if (fault.tookEffect()) {
        byName.values().forEach(leases -> addFirstAfter(fault, leases, recoveries));
        addFirstAfter(fault, byClient.getOrDefault(fault.target(), new TreeMap<>()), recoveries);
      }
    }
    return recoveries.stream()
        .distinct()
        .sorted(Comparator.comparing(Recovery::took).reversed())
        .limit(MAX_RECOVERIES)
        .toList();
  }

  /** Groups the leases by a property, and maps those of each group by the time of their grant. */
  private Map<String, NavigableMap<Long, Lease>> byTime(Function<Lease, String> property) {
    return records.leases.stream()
        .collect(
            Collectors.groupingBy(
                property,
                TreeMap::new,
                Collectors.toMap(Lease::from, lease -> lease, (a, b) -> a, TreeMap::new)));
  }

  private void addFirstAfter(
      InjectedFault fault, NavigableMap<Long, Lease> byGrant, List<Recovery> recoveries) {
    Map.Entry<Long, Lease> first = byGrant.ceilingEntry(until(fault));
    if (first != null) {
      Lease next = first.getValue();
      recoveries.add(
          new Recovery(
              fault.kind(),
              fault.target(),
              fault.until(),
              next.grant.name(),
              next.client,
              Duration.ofNanos(next.from() - until(fault))));
    }
  }
}
