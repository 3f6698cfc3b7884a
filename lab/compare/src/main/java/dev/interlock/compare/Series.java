package dev.interlock.compare;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.DoubleBinaryOperator;

/**
 * The figures of all rounds of one measurement, for each contender that took part in all of them.
 *
 * @param <K> identifies contenders
 */
public final class Series<K> {
  private final String name;
  private final Map<K, List<Map<Figure, Double>>> rounds = new LinkedHashMap<>();

  /** Creates a series without rounds. */
  public Series(String name) {
    this.name = name;
  }

  /** {@return the name of the measurement} */
  public String name() {
    return name;
  }

  /** Adds a round of a contender. */
  public void add(K contender, Map<Figure, Double> round) {
    rounds.computeIfAbsent(contender, key -> new ArrayList<>()).add(round);
  }

  /** Removes a contender that failed. */
  public void remove(K contender) {
    rounds.remove(contender);
  }

  /** {@return the contenders that have rounds} */
  public Set<K> contenders() {
    return rounds.keySet();
  }

  /** {@return the figure of each round; empty if it was not measured} */
  public List<Double> values(K contender, Figure figure) {
    return rounds.getOrDefault(contender, List.of()).stream()
        .map(round -> round.get(figure))
        .filter(Objects::nonNull)
        .toList();
  }

  /**
   * {@return the ratio of one contender to another in each round} Within a round, disturbances of
   * the machine affect both alike.
   */
  public List<Double> ratios(Figure figure, K of, K to) {
    return combined(figure, of, to, (one, other) -> one / other);
  }

  /** {@return the difference between one contender and another in each round} */
  public List<Double> differences(Figure figure, K of, K to) {
    return combined(figure, of, to, (one, other) -> one - other);
  }

  /** {@return the contender with the highest median, except for one} */
  public Optional<K> highest(Figure figure, K except) {
    K best = null;
    double most = Double.NEGATIVE_INFINITY;
    for (K contender : rounds.keySet()) {
      double median = Spread.of(values(contender, figure)).median();
      if (!contender.equals(except) && median > most) {
        best = contender;
        most = median;
      }
    }
    return Optional.ofNullable(best);
  }

  private List<Double> combined(Figure figure, K of, K to, DoubleBinaryOperator operator) {
    List<Map<Figure, Double>> ones = rounds.getOrDefault(of, List.of());
    List<Map<Figure, Double>> others = rounds.getOrDefault(to, List.of());
    List<Double> combined = new ArrayList<>();
    for (int i = 0; i < Math.min(ones.size(), others.size()); i++) {
      Double one = ones.get(i).get(figure);
      Double other = others.get(i).get(figure);
      if (one != null && other != null) {
        combined.add(operator.applyAsDouble(one, other));
      }
    }
    combined.removeIf(value -> !Double.isFinite(value));
    return combined;
  }
}
