package dev.interlock.tck.history;

import static java.util.Comparator.comparingLong;

import dev.interlock.spi.Grant;
import dev.interlock.tck.history.Violation.Kind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiPredicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Checks that the leases of a history exclude each other as far as they must, and that their tokens
 * are unique and rise. Takes O(n log n) time for n events.
 *
 * <p>A lease is held from its grant until its last recorded end of validity or its recorded end,
 * whichever is first. The checker looks for three kinds of violations of each name. Of each kind it
 * reports the two leases whose grants are closest together:
 *
 * <ul>
 *   <li>{@link Kind#OVERLAP}: more was held at one moment than the name has: two leases of an
 *       exclusive lock, a writer and a reader, or more permits than the limit.
 *   <li>{@link Kind#TOKEN_REPEATED}: two leases have the same token.
 *   <li>{@link Kind#TOKEN_WENT_BACK}: a lease has a lower token than one that had been granted
 *       before this one was requested. If no leases of the name overlapped, a lease also must not
 *       have a lower token than one that was granted before it. (Without overlap the store granted
 *       leases in the order in which they were held, even if their requests crossed.)
 * </ul>
 *
 * <p>Leases that can be held together have no order. Their tokens are compared only with those of
 * leases that exclude them: a client hands off readers' grants and permits among its threads, and a
 * thread may continue in the queue place of an abandoned acquisition, so that a token may be older
 * than the request.
 *
 * <p>Leases with the token 0 have no token. They are only checked for overlaps.
 */
public final class HistoryChecker {
  private final boolean withinFailureModel;

  private HistoryChecker(boolean withinFailureModel) {
    this.withinFailureModel = withinFailureModel;
  }

  /** {@return a checker for histories whose faults are all within the backend's failure model} */
  public static HistoryChecker withinFailureModel() {
    return new HistoryChecker(true);
  }

  /**
   * {@return a checker for histories with faults that may have broken exclusion, since they are
   * outside the backend's failure model} It still reports overlaps. A process that has not noticed
   * its loss may go on handing off its grant among its threads. Therefore all leases of a turn
   * count as granted when the store granted the turn.
   */
  public static HistoryChecker outsideFailureModel() {
    return new HistoryChecker(false);
  }

  /** One lease, from grant to end. */
  private record Hold(Event.Granted grant, long end) {
    long from() {
      return grant.at();
    }

    long token() {
      return grant.token();
    }

    boolean isWhole() {
      return grant.isWhole();
    }
  }

  /**
   * Checks a history.
   *
   * @param events all events of all processes, in any order
   * @return the closest violation of each name and kind, ordered by name; empty if there is none
   * @throws IllegalArgumentException if an event belongs to no lease, or two leases have the same
   *     identity
   */
  public List<Violation> check(Collection<? extends Event> events) {
    Map<String, List<Hold>> byName = new TreeMap<>();
    for (Hold hold : fold(events)) {
      byName.computeIfAbsent(hold.grant.name(), name -> new ArrayList<>()).add(hold);
    }
    List<Violation> found = new ArrayList<>();
    for (List<Hold> holds : byName.values()) {
      Closest overlap = new Closest(Kind.OVERLAP);
      findOverlap(holds, overlap);
      List<Hold> fenced = holds.stream().filter(hold -> hold.token() != 0).toList();
      Closest repeated = new Closest(Kind.TOKEN_REPEATED);
      findRepetition(fenced, repeated);
      Closest back = new Closest(Kind.TOKEN_WENT_BACK);
      if (!withinFailureModel) {
        findRegressionOfTurns(fenced, back);
      } else if (!fenced.stream().allMatch(Hold::isWhole)) {
        findRegressionOfShares(fenced, back);
      } else {
        findRegressionAgainstRequests(fenced, fenced, back);
        if (overlap.violation == null) {
          findRegressionAlongHolds(fenced, back);
        }
      }
      for (Closest closest : List.of(overlap, repeated, back)) {
        if (closest.violation != null) {
          found.add(closest.violation);
        }
      }
    }
    return found;
  }

  private static List<Hold> fold(Collection<? extends Event> events) {
    Map<String, Event.Granted> grants = new HashMap<>();
    Map<String, Long> validity = new HashMap<>();
    Map<String, Long> ended = new HashMap<>();
    for (Event event : events) {
      if (event instanceof Event.Granted granted) {
        if (granted.requestedAt() > granted.at()) {
          throw new IllegalArgumentException(
              "a lease was granted before it was requested: " + event);
        }
        if (grants.put(granted.lease(), granted) != null) {
          throw new IllegalArgumentException("two leases have the identity " + granted.lease());
        }
        validity.merge(granted.lease(), granted.validUntil(), Math::max);
      } else if (event instanceof Event.Extended extended) {
        validity.merge(extended.lease(), extended.validUntil(), Math::max);
      } else {
        ended.merge(event.lease(), event.at(), Math::min);
      }
    }
    for (Event event : events) {
      if (!grants.containsKey(event.lease())) {
        throw new IllegalArgumentException("an event of a lease without a grant: " + event);
      }
    }
    List<Hold> holds = new ArrayList<>(grants.size());
    grants.forEach(
        (lease, grant) -> {
          long validUntil = validity.getOrDefault(lease, grant.validUntil());
          holds.add(new Hold(grant, Math.min(validUntil, ended.getOrDefault(lease, validUntil))));
        });
    return holds;
  }

  /** Keeps the two leases whose grants are closest together. */
  private static final class Closest {
    private final Kind kind;
    private @Nullable Violation violation;

    Closest(Kind kind) {
      this.kind = kind;
    }

    void offer(Hold a, Hold b) {
      boolean inOrder = a.from() <= b.from();
      Hold first = inOrder ? a : b;
      Hold second = inOrder ? b : a;
      Violation candidate = new Violation(kind, first.grant, first.end, second.grant);
      if (violation == null || candidate.distance() < violation.distance()) {
        violation = candidate;
      }
    }
  }

  /**
   * Adds up the weights that are held at the moment of each grant. An overlap is reported with the
   * last of the earlier grants. For exclusive locks these two are closest: if holds i and j
   * overlap, and i is the earlier, then every hold that starts between them starts within i.
   */
  private static void findOverlap(List<Hold> holds, Closest closest) {
    List<Hold> inOrder =
        holds.stream()
            .filter(hold -> hold.end > hold.from())
            .sorted(comparingLong(Hold::from))
            .toList();
    PriorityQueue<Hold> current = new PriorityQueue<>(comparingLong(Hold::end));
    NavigableSet<Hold> byGrant =
        new TreeSet<>(comparingLong(Hold::from).thenComparing(hold -> hold.grant.lease()));
    long heldWeight = 0;
    for (Hold hold : inOrder) {
      for (Hold first = current.peek();
          first != null && first.end <= hold.from();
          first = current.peek()) {
        current.remove();
        byGrant.remove(first);
        heldWeight -= first.grant.weight();
      }
      if (!byGrant.isEmpty() && heldWeight + hold.grant.weight() > hold.grant.capacity()) {
        closest.offer(byGrant.last(), hold);
      }
      current.add(hold);
      byGrant.add(hold);
      heldWeight += hold.grant.weight();
    }
  }

  private static void findRepetition(List<Hold> holds, Closest closest) {
    offerNeighbours(
        holds.stream().sorted(comparingLong(Hold::token).thenComparingLong(Hold::from)),
        (a, b) -> a.token() == b.token(),
        closest);
  }

  /** Compares neighbours only: a sequence rises if each element is higher than the one before. */
  private static void findRegressionAlongHolds(List<Hold> holds, Closest closest) {
    offerNeighbours(
        holds.stream().filter(hold -> hold.end > hold.from()).sorted(comparingLong(Hold::from)),
        (a, b) -> a.token() > b.token(),
        closest);
  }

  private static void offerNeighbours(
      Stream<Hold> inOrder, BiPredicate<Hold, Hold> violate, Closest closest) {
    List<Hold> holds = inOrder.toList();
    for (int i = 1; i < holds.size(); i++) {
      if (violate.test(holds.get(i - 1), holds.get(i))) {
        closest.offer(holds.get(i - 1), holds.get(i));
      }
    }
  }

  /** Compares leases that exclude all others with every lease, and leases within a turn. */
  private static void findRegressionOfShares(List<Hold> holds, Closest closest) {
    List<Hold> whole = holds.stream().filter(Hold::isWhole).toList();
    findRegressionAgainstRequests(holds, whole, closest);
    findRegressionAgainstRequests(whole, holds, closest);
    findRegressionOfTurns(holds, closest);
  }

  /**
   * Finds, for every request, the latest grant before it that has a higher token. Grants are pushed
   * in order of time onto a stack. Each first removes those with lower tokens: it violates the
   * order with every later lease that they do, and is closer. So tokens fall towards the top of the
   * stack, and bisection finds the closest violation.
   */
  private static void findRegressionAgainstRequests(
      List<Hold> granted, List<Hold> requested, Closest closest) {
    List<Hold> byRequest =
        requested.stream().sorted(comparingLong(hold -> hold.grant.requestedAt())).toList();
    List<Hold> byGrant = granted.stream().sorted(comparingLong(Hold::from)).toList();
    List<Hold> stack = new ArrayList<>();
    int next = 0;
    for (Hold hold : byRequest) {
      while (next < byGrant.size() && byGrant.get(next).from() < hold.grant.requestedAt()) {
        Hold earlier = byGrant.get(next++);
        while (!stack.isEmpty() && last(stack).token() <= earlier.token()) {
          stack.remove(stack.size() - 1);
        }
        stack.add(earlier);
      }
      int higher = 0;
      for (int upper = stack.size(); higher < upper; ) {
        int middle = (higher + upper) >>> 1;
        if (stack.get(middle).token() > hold.token()) {
          higher = middle + 1;
        } else {
          upper = middle;
        }
      }
      if (higher > 0) {
        closest.offer(stack.get(higher - 1), hold);
      }
    }
  }

  /**
   * Compares the leases within each turn, and turns of which one excludes all others. A turn counts
   * as granted when its first lease was; a turn whose first lease was not recorded is left out.
   */
  private static void findRegressionOfTurns(List<Hold> holds, Closest closest) {
    Map<Long, List<Hold>> turns = new HashMap<>();
    for (Hold hold : holds) {
      turns
          .computeIfAbsent(hold.token() / Grant.LEASES_PER_GRANT, turn -> new ArrayList<>())
          .add(hold);
    }
    List<Hold> first = new ArrayList<>();
    for (List<Hold> turn : turns.values()) {
      findRegressionAgainstRequests(turn, turn, closest);
      turn.stream()
          .filter(hold -> hold.token() % Grant.LEASES_PER_GRANT == 0)
          .min(Comparator.comparingLong(Hold::from))
          .ifPresent(first::add);
    }
    List<Hold> whole = first.stream().filter(Hold::isWhole).toList();
    findRegressionAgainstRequests(first, whole, closest);
    findRegressionAgainstRequests(whole, first, closest);
  }

  private static Hold last(List<Hold> holds) {
    return holds.get(holds.size() - 1);
  }
}
