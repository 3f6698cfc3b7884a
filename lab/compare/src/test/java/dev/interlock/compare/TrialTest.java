package dev.interlock.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Tests trials with our lock in memory, and with a lock that is never free. */
class TrialTest {
  private static final Duration SLICE = Duration.ofMillis(100);

  @Test
  void aRoundMeasuresTheThreads() throws Exception {
    try (Locking one = Locking.locks(LockClient.open("memory:contention"));
        Locking other = Locking.locks(LockClient.open("memory:contention"))) {
      Trial contention =
          ContentionTrial.of(List.of(one, other), 2, SLICE, Duration.ZERO, "hot", null);
      Map<Figure, Double> figures = contention.round();
      while (!figures.containsKey(Figure.HANDOFF_P50)) { // on a busy machine, a round may have none
        figures = contention.round();
      }
      assertTrue(figures.get(Figure.HANDOFFS) > 0, figures.toString());
      CycleTrial cycles = new CycleTrial(List.of(one), 2, SLICE, number -> "own-" + number, null);
      Map<Figure, Double> measured = cycles.round();
      assertTrue(measured.get(Figure.CYCLES) > 0, measured::toString);
      assertTrue(measured.get(Figure.CYCLE_P50) > 0, measured::toString);
      assertTrue(cycles.all().getTotalCount() > 0);
      cycles.forgetWarmUp();
      assertEquals(0, cycles.all().getTotalCount());
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
