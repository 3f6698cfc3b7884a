package dev.interlock.storm.report;

import dev.interlock.report.Html;
import dev.interlock.storm.nemesis.InjectedFault;
import dev.interlock.storm.verdict.Verdict.HeldLease;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.LongStream;

/**
 * Draws a storm as SVG: above, the faults of the store and of each client; below, the holders of
 * each lock. A mark shows where two clients held a lock at once.
 */
final class TimeLine {
  private static final int LEFT = 84;
  private static final int WIDTH = 1_000;
  private static final int RIGHT = 12;
  private static final int ROW = 20;
  private static final int BAR = 13;
  private static final int TOP = 6;
  private static final int AXIS = 26;
  private static final int TICKS = 10;
  private static final int SHADES = 4;
  private static final String STORE = "store";

  private final StormResult storm;
  private final long end;
  private final StringBuilder svg = new StringBuilder();

  TimeLine(StormResult storm) {
    this.storm = storm;
    LongStream faults = storm.faults().stream().mapToLong(fault -> fault.until().toNanos());
    LongStream leases = storm.leases().stream().mapToLong(HeldLease::until);
    this.end =
        Math.max(storm.lasted().toNanos(), LongStream.concat(faults, leases).max().orElse(0));
  }

  /** {@return the picture in SVG} */
  String picture() {
    List<String> rows = new ArrayList<>();
    rows.add(STORE);
    rows.addAll(storm.clients());
    int faults = rows.size();
    int height = TOP + ROW * (faults + storm.names().size()) + AXIS + 8;
    svg.append("<svg class=\"storm\" viewBox=\"0 0 " + WIDTH + " " + height + "\" role=\"img\"")
        .append(" aria-label=\"")
        .append(Html.text(storm.name() + ": faults and leases over time"))
        .append("\">\n");
    beyond(height);
    axis(height);
    for (int row = 0; row < faults; row++) {
      label(row, rows.get(row));
    }
    for (InjectedFault fault : storm.faults()) {
      fault(Math.max(0, rows.indexOf(fault.target())), fault);
    }
    for (int i = 0; i < storm.names().size(); i++) {
      int row = faults + i;
      label(row, "lock " + (i + 1));
      leases(row, storm.names().get(i));
    }
    return svg.append("</svg>\n").toString();
  }

  /** An entry of the legend: a shape in SVG, 14 wide and high, and its meaning. */
  record Key(String shape, String meaning) {}

  List<Key> legend() {
    List<Key> legend = new ArrayList<>();
    legend.add(key("fault in", "a fault that the failure model covers"));
    if (storm.faults().stream().anyMatch(fault -> !fault.insideModel())) {
      legend.add(key("fault out", "a fault beyond it"));
    }
    if (storm.faults().stream().anyMatch(fault -> !fault.tookEffect())) {
      legend.add(key("fault missed", "no effect seen"));
    }
    for (int i = 0; i < storm.clients().size(); i++) {
      String shape = "<rect width=\"14\" height=\"14\" fill=\"" + colour(i) + "\"/>";
      legend.add(new Key(shape, "held by " + storm.clients().get(i)));
    }
    legend.add(new Key("<path class=\"twice\" d=\"M7 2L13 13H1Z\"/>", "held by two at once"));
    return legend;
  }

  private static Key key(String style, String meaning) {
    return new Key(
        "<rect class=\"" + style + "\" x=\"1\" y=\"1\" width=\"12\" height=\"12\"/>", meaning);
  }

  private void draw(String format, Object... values) {
    svg.append(String.format(Locale.ROOT, format, values));
  }

  /** Shades the time in which faults beyond the failure model are injected. */
  private void beyond(int height) {
    long from = storm.beyondAt().toNanos();
    long until = storm.lasted().toNanos();
    if (from < until && storm.faults().stream().anyMatch(fault -> !fault.insideModel())) {
      double x = x(from);
      draw(
          "<rect class=\"beyond\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\"/>%n",
          x, x(until) - x, height - AXIS);
    }
  }

  private void axis(int height) {
    double seconds = end / 1e9;
    double step = step(seconds / TICKS);
    for (double at = 0; at <= seconds; at += step) {
      double x = x((long) (at * 1e9));
      draw(
          "<line class=\"grid\" x1=\"%.1f\" y1=\"0\" x2=\"%.1f\" y2=\"%d\"/>%n"
              + "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>%n",
          x,
          x,
          height - AXIS,
          x,
          height - 8,
          step < 60 ? Math.round(at) + " s" : Math.round(at / 60) + " min");
    }
  }

  /** {@return the smallest usual step that is not below the minimum, in seconds} */
  private static double step(double min) {
    for (double step : new double[] {1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600}) {
      if (step >= min) {
        return step;
      }
    }
    return 3_600 * Math.ceil(min / 3_600);
  }

  private void label(int row, String text) {
    draw(
        "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>%n",
        LEFT - 8, TOP + row * ROW + BAR - 2, Html.text(text));
  }

  private void fault(int row, InjectedFault fault) {
    double x = x(fault.from().toNanos());
    String style = !fault.tookEffect() ? "missed" : fault.insideModel() ? "in" : "out";
    draw(
        "<rect class=\"fault %s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\">"
            + "<title>%s</title></rect>%n",
        style,
        x,
        TOP + row * ROW,
        Math.max(2, x(fault.until().toNanos()) - x),
        BAR,
        Html.text(describe(fault)));
  }

  private static String describe(InjectedFault fault) {
    String time = StormReport.at(fault.from()) + " to " + StormReport.at(fault.until());
    String note = fault.note().isEmpty() ? "" : " (" + fault.note() + ")";
    String effect = fault.tookEffect() ? "" : "; no effect seen";
    String model = fault.insideModel() ? "" : "; beyond the failure model";
    return time + ": " + fault.kind() + ", " + fault.target() + note + effect + model;
  }

  /**
   * Draws the holders of a lock. There are far more leases than columns, so each column shows the
   * client that held the lock for most of that time; the less time, the paler the colour.
   */
  private void leases(int row, String name) {
    int columns = WIDTH - LEFT - RIGHT;
    long[][] heldNanos = new long[columns][storm.clients().size()];
    List<HeldLease> leases =
        storm.leases().stream()
            .filter(one -> one.name().equals(name) && one.until() > one.from())
            .sorted(Comparator.comparingLong(HeldLease::from))
            .toList();
    long column = Math.max(1, end / columns);
    for (HeldLease one : leases) {
      int client = storm.clients().indexOf(one.client());
      for (long at = Math.max(0, one.from()); client >= 0 && at < one.until(); ) {
        int index = (int) Math.min(columns - 1, at / column);
        long next =
            index == columns - 1 ? one.until() : Math.min(one.until(), (index + 1) * column);
        heldNanos[index][client] += next - at;
        at = next;
      }
    }
    int y = TOP + row * ROW;
    for (int from = 0, until; from < columns; from = until) {
      int tint = tint(heldNanos[from], column);
      for (until = from + 1; until < columns && tint(heldNanos[until], column) == tint; until++) {}
      if (tint >= 0) {
        draw(
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\""
                + " opacity=\"%.2f\"/>%n",
            LEFT + from,
            y,
            until - from,
            BAR,
            colour(tint / SHADES),
            (tint % SHADES + 1.0) / SHADES);
      }
    }
    marks(y, leases);
  }

  /** {@return client and shade of a column as one number; -1 if no client held the lock} */
  private static int tint(long[] held, long column) {
    int mainClient = 0;
    long sum = 0;
    for (int client = 0; client < held.length; client++) {
      sum += held[client];
      mainClient = held[client] > held[mainClient] ? client : mainClient;
    }
    int shade = (int) Math.min(SHADES - 1, sum * SHADES / column);
    return sum == 0 ? -1 : mainClient * SHADES + shade;
  }

  private void marks(int y, List<HeldLease> inOrder) {
    long valid = Long.MIN_VALUE;
    double last = -10;
    for (HeldLease one : inOrder) {
      double x = x(one.from());
      if (one.from() < valid && x - last >= 4) { // marks on top of each other add nothing
        last = x;
        draw(
            "<path class=\"twice\" d=\"M%.1f %dl5 8h-10Z\"><title>%s</title></path>%n",
            x,
            y + BAR - 4,
            Html.text("held by two at once, at " + StormReport.at(Duration.ofNanos(one.from()))));
      }
      valid = Math.max(valid, one.until());
    }
  }

  private double x(long nanos) {
    double share = (double) nanos / Math.max(1, end);
    return LEFT + Math.max(0, Math.min(1, share)) * (WIDTH - LEFT - RIGHT);
  }

  private static String colour(int client) {
    return "var(--s" + client % 7 + ")";
  }
}
