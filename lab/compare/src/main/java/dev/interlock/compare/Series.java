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
 * What the rounds of one measurement gave, for each contender that took part in all of them.
 *
 * @param <K> tells contenders apart
 */
public final class Series<K> {
  private final String name;
  private final Map<K, List<Map<Figure, Double>>> rounds = new LinkedHashMap<>();

  /** A series without rounds. */
  public Series(String name) {
    this.name = name;
  }

  /** {@return what was measured} */
  public String name() {
    return name;
  }

  /** Adds a round of a contender. */
  public void add(K contender, Map<Figure, Double> round) {
    rounds.computeIfAbsent(contender, key -> new ArrayList<>()).add(round);
  }

  /** Drops a contender that failed, so that the rounds of the others still belong together. */
  public void remove(K contender) {
    rounds.remove(contender);
  }

  /** {@return the contenders that gave a number} */
  public Set<K> contenders() {
    return rounds.keySet();
  }

  /** {@return what each round gave; empty if it was not measured} */
  public List<Double> values(K contender, Figure figure) {
    return rounds.getOrDefault(contender, List.of()).stream()
        .map(round -> round.get(figure))
        .filter(Objects::nonNull)
        .toList();
  }

  /** {@return one contender divided by another, round by round: what disturbs one disturbs both} */
  public List<Double> ratios(Figure figure, K of, K to) {
    return combined(figure, of, to, (one, other) -> one / other);
  }

  /** {@return what one contender takes beyond another, round by round} */
  public List<Double> differences(Figure figure, K of, K to) {
    return combined(figure, of, to, (one, other) -> one - other);
  }

  /** {@return the contender with the highest median, of all but one} */
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
