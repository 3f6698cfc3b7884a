package dev.interlock.report;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import org.jspecify.annotations.Nullable;

/**
 * Shows the current step and an estimate of the remaining time: on a terminal as a progress bar,
 * otherwise as one line for each step.
 */
public final class Progress implements AutoCloseable {
  private static final int BAR_WIDTH = 20;
  private static final int LINE_WIDTH = 78;
  private static final long REDRAW_INTERVAL_MILLIS = 500;

  /** A step with its estimated duration. */
  public record Step(String name, Duration estimate) {}

  private final PrintWriter err;
  private final boolean terminal;
  private final int stepCount;
  private final Duration total;
  private final Timer redrawTimer = new Timer("progress", /* isDaemon= */ true);

  @GuardedBy("this")
  private final Deque<Step> pending;

  @GuardedBy("this")
  private @Nullable Step current;

  @GuardedBy("this")
  private long stepStart;

  @GuardedBy("this")
  private boolean barVisible;

  /**
   * Plans the steps. Nothing is shown until {@link #next} begins the first one.
   *
   * @param err receives the progress
   * @param terminal whether {@code err} is a terminal
   */
  public Progress(PrintWriter err, boolean terminal, List<Step> steps) {
    this.err = err;
    this.terminal = terminal;
    this.pending = new ArrayDeque<>(steps);
    this.stepCount = steps.size();
    this.total = steps.stream().map(Step::estimate).reduce(Duration.ZERO, Duration::plus);
    if (terminal) {
      TimerTask redraw =
          new TimerTask() {
            @Override
            public void run() {
              draw();
            }
          };
      redrawTimer.schedule(redraw, 0, REDRAW_INTERVAL_MILLIS);
    }
  }

  /** Begins the next step and shows it. */
  public synchronized void next() {
    current = pending.poll();
    stepStart = System.nanoTime();
    if (terminal) {
      draw();
    } else if (current != null) {
      err.println("interlock: " + describe(current));
    }
  }

  /** Prints a line; on a terminal, above the progress bar. */
  public synchronized void say(String line) {
    erase();
    err.println("interlock: " + line);
    if (terminal) {
      draw();
    }
  }

  private synchronized void draw() {
    if (current == null) {
      return;
    }
    double share = 1 - (double) remaining().toMillis() / Math.max(1, total.toMillis());
    int full = (int) Math.round(Math.max(0, Math.min(1, share)) * BAR_WIDTH);
    String bar = "[" + "#".repeat(full) + "-".repeat(BAR_WIDTH - full) + "] " + describe(current);
    err.print("\r" + pad(bar));
    err.flush();
    barVisible = true;
  }

  private synchronized void erase() {
    if (barVisible) {
      err.print("\r" + " ".repeat(LINE_WIDTH) + "\r");
      err.flush();
      barVisible = false;
    }
  }

  private static String pad(String line) {
    return line.length() >= LINE_WIDTH
        ? line.substring(0, LINE_WIDTH)
        : line + " ".repeat(LINE_WIDTH - line.length());
  }

  private synchronized String describe(Step step) {
    return stepCount
        - pending.size()
        + "/"
        + stepCount
        + " "
        + step.name()
        + ", "
        + about(remaining());
  }

  private synchronized Duration remaining() {
    Duration sum = pending.stream().map(Step::estimate).reduce(Duration.ZERO, Duration::plus);
    if (current != null) {
      Duration remainingOfStep = current.estimate().minusNanos(System.nanoTime() - stepStart);
      sum = remainingOfStep.isNegative() ? sum : sum.plus(remainingOfStep);
    }
    return sum;
  }

  private static String about(Duration remaining) {
    long seconds = Math.max(1, remaining.toSeconds());
    return seconds < 100
        ? "about " + seconds + " s left"
        : "about " + seconds / 60 + " min " + seconds % 60 + " s left";
  }

  @Override
  public synchronized void close() {
    redrawTimer.cancel();
    current = null;
    erase();
  }
}
