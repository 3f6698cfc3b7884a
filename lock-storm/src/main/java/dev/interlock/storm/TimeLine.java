package dev.interlock.storm;

import dev.interlock.report.Html;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * A storm as a picture, in SVG: above, what was done to the store and to each client; below, who
 * had which lock. Where two had it at once there is a mark.
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

  private TimeLine(StormResult storm) {
    this.storm = storm;
    long last = storm.origin() + storm.lasted().toNanos();
    for (InjectedFault fault : storm.faults()) {
      last = Math.max(last, fault.until());
    }
    for (HeldLease held : storm.leases()) {
      last = Math.max(last, held.until());
    }
    this.end = last;
  }

  static String of(StormResult storm) {
    return new TimeLine(storm).draw();
  }

  private String draw() {
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

  /** What the colours mean. */
  static String legend(StormResult storm) {
    StringBuilder html = new StringBuilder("<ul class=\"legend\">\n");
    html.append(key("fault in", "a fault that the failure model covers"));
    if (storm.faults().stream().anyMatch(fault -> !fault.insideModel())) {
      html.append(key("fault out", "a fault beyond it"));
    }
    if (storm.faults().stream().anyMatch(fault -> !fault.tookEffect())) {
      html.append(key("fault missed", "not seen to strike"));
    }
    for (int i = 0; i < storm.clients().size(); i++) {
      html.append("<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect width=\"14\"")
          .append(" height=\"14\" fill=\"")
          .append(colour(i))
          .append("\"/></svg>had by ")
          .append(Html.text(storm.clients().get(i)))
          .append("</li>\n");
    }
    html.append("<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><path class=\"twice\"")
        .append(" d=\"M7 2L13 13H1Z\"/></svg>had by two at once</li>\n");
    return html.append("</ul>\n").toString();
  }

  private static String key(String style, String text) {
    return "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\""
        + style
        + "\" x=\"1\" y=\"1\" width=\"12\" height=\"12\"/></svg>"
        + Html.text(text)
        + "</li>\n";
  }

  /** The part in which faults beyond the failure model are made is shaded. */
  private void beyond(int height) {
    long from = storm.origin() + storm.plan().beyondAt().toNanos();
    long until = storm.origin() + storm.lasted().toNanos();
    if (from < until && storm.faults().stream().anyMatch(fault -> !fault.insideModel())) {
      double x = x(from);
      svg.append(
          String.format(
              Locale.ROOT,
              "<rect class=\"beyond\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\"/>%n",
              x,
              x(until) - x,
              height - AXIS));
    }
  }

  private void axis(int height) {
    double seconds = (end - storm.origin()) / 1e9;
    double step = step(seconds / TICKS);
    for (double at = 0; at <= seconds; at += step) {
      double x = x(storm.origin() + (long) (at * 1e9));
      svg.append(
          String.format(
              Locale.ROOT,
              "<line class=\"grid\" x1=\"%.1f\" y1=\"0\" x2=\"%.1f\" y2=\"%d\"/>%n"
                  + "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>%n",
              x,
              x,
              height - AXIS,
              x,
              height - 8,
              step < 60 ? Math.round(at) + " s" : Math.round(at / 60) + " min"));
    }
  }

  /** The smallest usual step that is not below the given one, in seconds. */
  private static double step(double least) {
    for (double step : new double[] {1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600}) {
      if (step >= least) {
        return step;
      }
    }
    return 3_600 * Math.ceil(least / 3_600);
  }

  private void label(int row, String text) {
    svg.append(
        String.format(
            Locale.ROOT,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>%n",
            LEFT - 8,
            TOP + row * ROW + BAR - 2,
            Html.text(text)));
  }

  private void fault(int row, InjectedFault fault) {
    double x = x(fault.from());
    String style = !fault.tookEffect() ? "missed" : fault.insideModel() ? "in" : "out";
    svg.append(
        String.format(
            Locale.ROOT,
            "<rect class=\"fault %s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\">"
                + "<title>%s</title></rect>%n",
            style,
            x,
            TOP + row * ROW,
            Math.max(2, x(fault.until()) - x),
            BAR,
            Html.text(says(fault))));
  }

  private String says(InjectedFault fault) {
    return Summary.at(storm, fault.from())
        + " to "
        + Summary.at(storm, fault.until())
        + ": "
        + fault.kind()
        + ", "
        + fault.target()
        + (fault.note().isEmpty() ? "" : " (" + fault.note() + ")")
        + (fault.tookEffect() ? "" : "; not seen to strike")
        + (fault.insideModel() ? "" : "; beyond the failure model");
  }

  /**
   * There are far more leases than can be reported apart: each column shows the client that had the
   * lock for most of that time, the paler the less of it.
   */
  private void leases(int row, String name) {
    int columns = WIDTH - LEFT - RIGHT;
    long[][] held = new long[columns][storm.clients().size()];
    List<HeldLease> leases =
        storm.leases().stream()
            .filter(one -> one.name().equals(name) && one.until() > one.from())
            .sorted(Comparator.comparingLong(HeldLease::from))
            .toList();
    long column = Math.max(1, (end - storm.origin()) / columns);
    for (HeldLease one : leases) {
      int client = storm.clients().indexOf(one.client());
      long from = Math.max(one.from(), storm.origin());
      for (long at = from; client >= 0 && at < one.until(); ) {
        int index = (int) Math.min(columns - 1, (at - storm.origin()) / column);
        long next =
            index == columns - 1
                ? one.until()
                : Math.min(one.until(), storm.origin() + (index + 1) * column);
        held[index][client] += next - at;
        at = next;
      }
    }
    int y = TOP + row * ROW;
    for (int from = 0, until; from < columns; from = until) {
      int look = look(held[from], column);
      for (until = from + 1; until < columns && look(held[until], column) == look; until++) {}
      if (look >= 0) {
        svg.append(
            String.format(
                Locale.ROOT,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\""
                    + " opacity=\"%.2f\"/>%n",
                LEFT + from,
                y,
                until - from,
                BAR,
                colour(look / SHADES),
                (look % SHADES + 1.0) / SHADES));
      }
    }
    marks(y, leases);
  }

  /** Client and shade of a column as one number; -1 if nobody had the lock. */
  private static int look(long[] held, long column) {
    int most = 0;
    long sum = 0;
    for (int client = 0; client < held.length; client++) {
      sum += held[client];
      most = held[client] > held[most] ? client : most;
    }
    int shade = (int) Math.min(SHADES - 1, sum * SHADES / column);
    return sum == 0 ? -1 : most * SHADES + shade;
  }

  private void marks(int y, List<HeldLease> inOrder) {
    long valid = Long.MIN_VALUE;
    double last = -10;
    for (HeldLease one : inOrder) {
      double x = x(one.from());
      if (one.from() < valid && x - last >= 4) { // marks on top of each other tell no more
        last = x;
        svg.append(
            String.format(
                Locale.ROOT,
                "<path class=\"twice\" d=\"M%.1f %dl5 8h-10Z\"><title>%s</title></path>%n",
                x,
                y + BAR - 4,
                Html.text("had by two at once, at " + Summary.at(storm, one.from()))));
      }
      valid = Math.max(valid, one.until());
    }
  }

  private double x(long nanos) {
    double share = (double) (nanos - storm.origin()) / Math.max(1, end - storm.origin());
    return LEFT + Math.max(0, Math.min(1, share)) * (WIDTH - LEFT - RIGHT);
  }

  private static String colour(int client) {
    return "var(--s" + client % 7 + ")";
  }
}
