package dev.interlock.verify;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Decides which batch of suites runs next. A {@linkplain Suite#heavy heavy} one takes two lanes,
 * and one at a time is enough: two kits at once would starve each other's servers. While one waits,
 * the others leave its lanes free.
 */
final class Lanes {
  private static final int HEAVY = 2;

  private final int lanes;
  private final List<List<Suite>> waiting;
  private int heavyRunning;
  private int lightRunning;

  /**
   * Prepares to run batches.
   *
   * @param batches the most urgent first
   */
  Lanes(int lanes, List<List<Suite>> batches) {
    this.lanes = lanes;
    this.waiting = new ArrayList<>(batches);
  }

  /** Waits for a batch that may run now; empty if none is left. */
  synchronized Optional<List<Suite>> take() throws InterruptedException {
    while (!waiting.isEmpty()) {
      for (List<Suite> batch : waiting) {
        if (fits(batch)) {
          waiting.remove(batch);
          count(batch, 1);
          return Optional.of(batch);
        }
      }
      wait();
    }
    return Optional.empty();
  }

  /** Has to be called when a batch that was taken has ended. */
  synchronized void ended(List<Suite> batch) {
    count(batch, -1);
    notifyAll();
  }

  private boolean fits(List<Suite> batch) {
    if (isHeavy(batch)) {
      return heavyRunning == 0 && (lightRunning == 0 || lightRunning + HEAVY <= lanes);
    }
    boolean reserved = heavyRunning > 0 || waiting.stream().anyMatch(Lanes::isHeavy);
    return lightRunning < (reserved ? Math.max(1, lanes - HEAVY) : lanes);
  }

  private void count(List<Suite> batch, int change) {
    if (isHeavy(batch)) {
      heavyRunning += change;
    } else {
      lightRunning += change;
    }
  }

  private static boolean isHeavy(List<Suite> batch) {
    return batch.stream().anyMatch(Suite::heavy);
  }
}
