package dev.interlock.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The rounds, with our own lock in memory and with one that is never free. */
class TrialTest {
  private static final Duration SLICE = Duration.ofMillis(100);

  @Test
  void whatTheThreadsDidIsMeasured() throws Exception {
    try (Locking one = Locking.by(LockClient.open("memory:contention"));
        Locking other = Locking.by(LockClient.open("memory:contention"))) {
      Trial contention =
          ContentionTrial.of(List.of(one, other), 2, SLICE, Duration.ZERO, "hot", null);
      Map<Figure, Double> figures = contention.round();
      while (!figures.containsKey(Figure.HANDOFF_P50)) { // a busy machine may let a round pass
        figures = contention.round();
      }
      assertTrue(figures.get(Figure.HANDOFFS) > 0, figures.toString());
      PairTrial pairs = new PairTrial(List.of(one), 2, SLICE, number -> "own-" + number, null);
      Map<Figure, Double> measured = pairs.round();
      assertTrue(measured.get(Figure.PAIRS) > 0, measured::toString);
      assertTrue(measured.get(Figure.PAIR_P50) > 0, measured::toString);
      assertTrue(pairs.all().getTotalCount() > 0);
      pairs.warmedUp();
      assertEquals(0, pairs.all().getTotalCount());
    }
  }

  @Test
  void aLockThatIsNeverFreeEndsTheRoundWithoutHandoffs() throws Exception {
    Locking stuck =
        new Locking() {
          @Override
          public Optional<AutoCloseable> acquire(String name, Duration atMost) throws Exception {
            Thread.sleep(atMost.toMillis());
            return Optional.empty();
          }

          @Override
          public void close() {}
        };
    assertEquals(
        Map.of(Figure.HANDOFFS, 0.0),
        ContentionTrial.of(List.of(stuck), 3, SLICE, Duration.ZERO, "hot", null).round());
  }
}
