package dev.interlock.bench.peers;

import dev.interlock.compare.Rounds;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.DoubleBinaryOperator;

/** What the rounds of one measurement gave, for each entrant that saw them all. */
final class Series {
  private final String name;
  private final Map<String, List<Map<Figure, Double>>> rounds = new LinkedHashMap<>();

  Series(String name) {
    this.name = name;
  }

  String name() {
    return name;
  }

  void add(String entrant, Map<Figure, Double> round) {
    rounds.computeIfAbsent(entrant, e -> new ArrayList<>()).add(round);
  }

  /** Forgets an entrant that failed, so that the rounds of the others still belong together. */
  void remove(String entrant) {
    rounds.remove(entrant);
  }

  Set<String> entrants() {
    return rounds.keySet();
  }

  /** The median over the rounds; empty if it was not measured. */
  OptionalDouble median(String entrant, Figure figure) {
    List<Double> values = values(entrant, figure);
    return values.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(Rounds.median(values));
  }

  /** One figure of one entrant; empty if it was not measured. */
  Optional<Spread> spread(String entrant, Figure figure) {
    return spread(values(entrant, figure));
  }

  /**
   * One entrant divided by another, round by round, so that what disturbs a round disturbs both;
   * empty if there was no round in which both were measured.
   */
  Optional<Spread> ratio(Figure figure, String of, String to) {
    return combined(figure, of, to, (one, other) -> one / other);
  }

  /** What one entrant takes beyond another, round by round. */
  Optional<Spread> difference(Figure figure, String of, String to) {
    return combined(figure, of, to, (one, other) -> one - other);
  }

  /** Who has the highest median, of all but one. */
  Optional<String> highest(Figure figure, String except) {
    String best = null;
    double most = Double.NEGATIVE_INFINITY;
    for (String entrant : rounds.keySet()) {
      double median = median(entrant, figure).orElse(Double.NEGATIVE_INFINITY);
      if (!entrant.equals(except) && median > most) {
        best = entrant;
        most = median;
      }
    }
    return Optional.ofNullable(best);
  }

  private Optional<Spread> combined(
      Figure figure, String of, String to, DoubleBinaryOperator operator) {
    List<Map<Figure, Double>> ones = rounds.getOrDefault(of, List.of());
    List<Map<Figure, Double>> others = rounds.getOrDefault(to, List.of());
    List<Double> combined = new ArrayList<>();
    for (int round = 0; round < Math.min(ones.size(), others.size()); round++) {
      Double one = ones.get(round).get(figure);
      Double other = others.get(round).get(figure);
      if (one != null && other != null) {
        double value = operator.applyAsDouble(one, other);
        if (Double.isFinite(value)) {
          combined.add(value);
        }
      }
    }
    return spread(combined);
  }

  private static Optional<Spread> spread(List<Double> values) {
    return values.isEmpty() ? Optional.empty() : Optional.of(Spread.of(values));
  }

  private List<Double> values(String entrant, Figure figure) {
    return rounds.getOrDefault(entrant, List.of()).stream()
        .filter(round -> round.containsKey(figure))
        .map(round -> round.get(figure))
        .toList();
  }
}
