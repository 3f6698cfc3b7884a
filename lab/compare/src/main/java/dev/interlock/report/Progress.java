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
 * Shows which step is under way, and about how long all will take: on a terminal in one line that
 * is redrawn, else in a line for each step.
 */
public final class Progress implements AutoCloseable {
  private static final int BAR = 20;
  private static final int LINE = 78;
  private static final long REDRAWN_EVERY_MILLIS = 500;

  /** One part of the whole, and how long it will take. */
  public record Step(String name, Duration estimate) {}

  private final PrintWriter err;
  private final boolean terminal;
  private final int steps;
  private final Duration whole;
  private final Timer redrawing = new Timer("progress", /* isDaemon= */ true);

  @GuardedBy("this")
  private final Deque<Step> left;

  @GuardedBy("this")
  private @Nullable Step current;

  @GuardedBy("this")
  private long began;

  @GuardedBy("this")
  private boolean drawn;

  /**
   * Plans the steps, and shows nothing yet.
   *
   * @param err where progress is shown
   * @param terminal whether {@code err} is a terminal
   */
  public Progress(PrintWriter err, boolean terminal, List<Step> steps) {
    this.err = err;
    this.terminal = terminal;
    this.left = new ArrayDeque<>(steps);
    this.steps = steps.size();
    this.whole = steps.stream().map(Step::estimate).reduce(Duration.ZERO, Duration::plus);
    if (terminal) {
      TimerTask redraw =
          new TimerTask() {
            @Override
            public void run() {
              draw();
            }
          };
      redrawing.schedule(redraw, 0, REDRAWN_EVERY_MILLIS);
    }
  }

  /** Begins the next step. */
  public synchronized void next() {
    current = left.poll();
    began = System.nanoTime();
    if (terminal) {
      draw();
    } else if (current != null) {
      err.println("interlock: " + words(current));
    }
  }

  /** Writes a line, above the bar. */
  public synchronized void say(String line) {
    wipe();
    err.println("interlock: " + line);
    if (terminal) {
      draw();
    }
  }

  private synchronized void draw() {
    if (current == null) {
      return;
    }
    double share = 1 - (double) toGo().toMillis() / Math.max(1, whole.toMillis());
    int full = (int) Math.round(Math.max(0, Math.min(1, share)) * BAR);
    String bar = "[" + "#".repeat(full) + "-".repeat(BAR - full) + "] " + words(current);
    err.print("\r" + pad(bar));
    err.flush();
    drawn = true;
  }

  private synchronized void wipe() {
    if (drawn) {
      err.print("\r" + " ".repeat(LINE) + "\r");
      err.flush();
      drawn = false;
    }
  }

  private static String pad(String line) {
    return line.length() >= LINE
        ? line.substring(0, LINE)
        : line + " ".repeat(LINE - line.length());
  }

  private synchronized String words(Step step) {
    return steps - left.size() + "/" + steps + " " + step.name() + ", " + about(toGo());
  }

  private synchronized Duration toGo() {
    Duration sum = left.stream().map(Step::estimate).reduce(Duration.ZERO, Duration::plus);
    if (current != null) {
      Duration rest = current.estimate().minusNanos(System.nanoTime() - began);
      sum = rest.isNegative() ? sum : sum.plus(rest);
    }
    return sum;
  }

  private static String about(Duration left) {
    long seconds = Math.max(1, left.toSeconds());
    return seconds < 100
        ? "about " + seconds + " s left"
        : "about " + seconds / 60 + " min " + seconds % 60 + " s left";
  }

  @Override
  public synchronized void close() {
    redrawing.cancel();
    current = null;
    wipe();
  }
}
