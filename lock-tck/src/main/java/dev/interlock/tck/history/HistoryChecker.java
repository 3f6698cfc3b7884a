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
 * Checks whether the leases of a history excluded each other, as far as they must, and whether
 * their tokens are unique and rise. Takes O(n log n) time for n events.
 *
 * <p>A lease is held from its grant until the latest end of validity that was recorded for it, or
 * until it was ended, whichever is first. The checker finds three kinds of violations per name, and
 * of each kind the pair of leases whose grants are closest together:
 *
 * <ul>
 *   <li>{@link Kind#OVERLAP}: at one moment more was held than the name has: two leases of an
 *       exclusive lock, a writer and a reader, or more permits than there are.
 *   <li>{@link Kind#TOKEN_REPEATED}: two leases have the same token.
 *   <li>{@link Kind#TOKEN_WENT_BACK}: a lease has a lower token than another that had been granted
 *       before this one was requested; or, where no leases of the name overlapped, than another
 *       that was granted before it. (Without overlap the order in which leases were held is the
 *       order in which the store granted them, even if their requests crossed.)
 * </ul>
 *
 * <p>Leases that can be held together have no order, and their tokens are compared only with those
 * of leases that exclude them: a client passes readers' grants and permits on among its threads,
 * and a thread may continue in the queue place of another one that has given up, so that a token
 * may be older than the request.
 *
 * <p>Leases with the token 0 have no token, and are only checked for overlaps.
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
   * {@return a checker for histories with faults that the backend does not promise to survive,
   * which may have broken exclusion} Overlaps are still found, for the caller to count. A process
   * that has not yet noticed its loss may continue to hand off its acquisition among its threads,
   * so all leases of such a turn count as granted when the store granted the turn.
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
   * @return for each name and kind of violation the shortest, by name; empty if there is none
   * @throws IllegalArgumentException if an event belongs to no lease, or two leases have one
   *     identity
   */
  public List<Violation> check(Collection<? extends Event> events) {
    Map<String, List<Hold>> byName = new TreeMap<>();
    for (Hold hold : fold(events)) {
      byName.computeIfAbsent(hold.grant.name(), name -> new ArrayList<>()).add(hold);
    }
    List<Violation> found = new ArrayList<>();
    for (List<Hold> holds : byName.values()) {
      Shortest overlap = new Shortest(Kind.OVERLAP);
      findOverlap(holds, overlap);
      List<Hold> fenced = holds.stream().filter(hold -> hold.token() != 0).toList();
      Shortest repeated = new Shortest(Kind.TOKEN_REPEATED);
      findRepetition(fenced, repeated);
      Shortest back = new Shortest(Kind.TOKEN_WENT_BACK);
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
      for (Shortest shortest : List.of(overlap, repeated, back)) {
        if (shortest.violation != null) {
          found.add(shortest.violation);
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
          throw new IllegalArgumentException("granted before it was requested: " + event);
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
        throw new IllegalArgumentException("no grant of " + event.lease() + " for " + event);
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

  /** Keeps the pair whose grants are closest together. */
  private static final class Shortest {
    private final Kind kind;
    private @Nullable Violation violation;

    Shortest(Kind kind) {
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
   * Adds up what is held at the moment of each grant. An overlap is shown with the last of the
   * earlier grants. For exclusive locks that is the nearest pair: if holds i and j overlap, i the
   * earlier, then every hold that starts between them starts within i.
   */
  private static void findOverlap(List<Hold> holds, Shortest shortest) {
    List<Hold> inOrder =
        holds.stream()
            .filter(hold -> hold.end > hold.from())
            .sorted(comparingLong(Hold::from))
            .toList();
    PriorityQueue<Hold> present = new PriorityQueue<>(comparingLong(Hold::end));
    NavigableSet<Hold> byGrant =
        new TreeSet<>(comparingLong(Hold::from).thenComparing(hold -> hold.grant.lease()));
    long held = 0;
    for (Hold hold : inOrder) {
      for (Hold first = present.peek();
          first != null && first.end <= hold.from();
          first = present.peek()) {
        present.remove();
        byGrant.remove(first);
        held -= first.grant.weight();
      }
      if (!byGrant.isEmpty() && held + hold.grant.weight() > hold.grant.capacity()) {
        shortest.offer(byGrant.last(), hold);
      }
      present.add(hold);
      byGrant.add(hold);
      held += hold.grant.weight();
    }
  }

  private static void findRepetition(List<Hold> holds, Shortest shortest) {
    offerNeighbours(
        holds.stream().sorted(comparingLong(Hold::token).thenComparingLong(Hold::from)),
        (a, b) -> a.token() == b.token(),
        shortest);
  }

  /** Neighbours suffice: a sequence rises if each element is higher than the one before it. */
  private static void findRegressionAlongHolds(List<Hold> holds, Shortest shortest) {
    offerNeighbours(
        holds.stream().filter(hold -> hold.end > hold.from()).sorted(comparingLong(Hold::from)),
        (a, b) -> a.token() > b.token(),
        shortest);
  }

  private static void offerNeighbours(
      Stream<Hold> inOrder, BiPredicate<Hold, Hold> violate, Shortest shortest) {
    List<Hold> holds = inOrder.toList();
    for (int i = 1; i < holds.size(); i++) {
      if (violate.test(holds.get(i - 1), holds.get(i))) {
        shortest.offer(holds.get(i - 1), holds.get(i));
      }
    }
  }

  /** Compares leases that exclude all others with every lease, and leases within a turn. */
  private static void findRegressionOfShares(List<Hold> holds, Shortest shortest) {
    List<Hold> whole = holds.stream().filter(Hold::isWhole).toList();
    findRegressionAgainstRequests(holds, whole, shortest);
    findRegressionAgainstRequests(whole, holds, shortest);
    findRegressionOfTurns(holds, shortest);
  }

  /**
   * Looks, for every request, for a lease granted before it with a higher token. Grants are taken
   * in order of time onto a stack, from which those with lower tokens are dropped when a later one
   * with a higher token comes: whatever they contradict, that one contradicts too, and is nearer.
   * The tokens on the stack thus fall towards its top, and the nearest contradiction is found by
   * bisection.
   */
  private static void findRegressionAgainstRequests(
      List<Hold> granted, List<Hold> requested, Shortest shortest) {
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
        shortest.offer(stack.get(higher - 1), hold);
      }
    }
  }

  /**
   * Takes each turn as granted when its first lease was, and compares turns of which one excludes
   * all others, and leases within a turn with each other. A turn whose first lease was not recorded
   * says nothing about when it was granted.
   */
  private static void findRegressionOfTurns(List<Hold> holds, Shortest shortest) {
    Map<Long, List<Hold>> turns = new HashMap<>();
    for (Hold hold : holds) {
      turns
          .computeIfAbsent(hold.token() / Grant.LEASES_PER_GRANT, turn -> new ArrayList<>())
          .add(hold);
    }
    List<Hold> first = new ArrayList<>();
    for (List<Hold> turn : turns.values()) {
      findRegressionAgainstRequests(turn, turn, shortest);
      turn.stream()
          .filter(hold -> hold.token() % Grant.LEASES_PER_GRANT == 0)
          .min(Comparator.comparingLong(Hold::from))
          .ifPresent(first::add);
    }
    List<Hold> whole = first.stream().filter(Hold::isWhole).toList();
    findRegressionAgainstRequests(first, whole, shortest);
    findRegressionAgainstRequests(whole, first, shortest);
  }

  private static Hold last(List<Hold> holds) {
    return holds.get(holds.size() - 1);
  }
}
