package dev.interlock.bench.peers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The rounds, with our own lock in memory and with one that nobody gets. */
class ContestRoundTest {
  private static final Duration SLICE = Duration.ofMillis(100);

  @Test
  void whatTheThreadsDidIsTold() throws Exception {
    try (Ours one = new Ours("memory:contest");
        Ours other = new Ours("memory:contest")) {
      ContestRound round =
          new ContestRound(List.of(one, other), 2, SLICE, Duration.ZERO, "hot", null);
      Map<Figure, Double> figures = round.measure();
      while (!figures.containsKey(Figure.HAND_OVER_P50)) { // a busy machine may let a round pass
        figures = round.measure();
      }
      assertTrue(figures.get(Figure.HAND_OVERS) > 0, figures.toString());
      Map<Figure, Double> pairs =
          new PairRound(one, 2, SLICE, number -> "own-" + number, null).measure();
      assertTrue(pairs.get(Figure.PAIRS) > 0, pairs::toString);
      assertTrue(pairs.get(Figure.PAIR_P50) > 0, pairs::toString);
    }
  }

  @Test
  void aLockThatNobodyGetsInTimeEndsTheRoundWithoutHandoffs() throws Exception {
    WaitingContender stuck =
        new WaitingContender() {
          @Override
          public Optional<AutoCloseable> acquire(String name, Duration atMost) throws Exception {
            Thread.sleep(atMost.toMillis());
            return Optional.empty();
          }

          @Override
          public void close() {}
        };
    assertEquals(
        Map.of(Figure.HAND_OVERS, 0.0),
        new ContestRound(List.of(stuck), 3, SLICE, Duration.ZERO, "hot", null).measure());
  }
}
