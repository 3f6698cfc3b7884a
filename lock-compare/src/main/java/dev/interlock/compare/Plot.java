package dev.interlock.compare;

import dev.interlock.report.Html;
import dev.interlock.report.Unit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A chart of curves as SVG, for a page that brings no script. Backends are told apart by colour and
 * by the shape of their markers.
 */
final class Plot {
  private static final int WIDTH = 420;
  private static final int HEIGHT = 270;
  private static final int LEFT = 66;
  private static final int RIGHT = 16;
  private static final int TOP = 12;
  private static final int BOTTOM = 44;

  /** One point of a curve: its place from left to right, 0 to 1, its value, and what it says. */
  record Dot(double place, double value, String says) {}

  /** One backend's curve; the number chooses colour and marker. */
  record Curve(int number, String name, List<Dot> dots) {}

  /** A mark at the horizontal axis. */
  record Mark(double place, String text) {}

  private Plot() {}

  static String of(
      String title, List<Curve> curves, List<Mark> marks, String horizontal, Unit unit) {
    List<Double> values = new ArrayList<>();
    curves.forEach(curve -> curve.dots().forEach(dot -> values.add(dot.value())));
    Scale scale = Scale.around(values);
    StringBuilder svg = new StringBuilder();
    svg.append("<svg viewBox=\"0 0 " + WIDTH + " " + HEIGHT + "\" role=\"img\" aria-label=\"")
        .append(Html.text(title))
        .append("\">\n");
    for (double tick : scale.ticks()) {
      double y = y(scale.place(tick));
      svg.append(line(LEFT, y, WIDTH - RIGHT, y));
      svg.append(text(LEFT - 8, y + 4, "end", unit.shortly(tick)));
    }
    for (Mark mark : marks) {
      double x = x(mark.place());
      svg.append(line(x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 4));
      svg.append(text(x, HEIGHT - BOTTOM + 18, "middle", mark.text()));
    }
    svg.append(text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6, "middle", horizontal));
    curves.forEach(curve -> svg.append(curve(curve, scale)));
    return svg.append("</svg>\n").toString();
  }

  private static String curve(Curve curve, Scale scale) {
    StringBuilder svg = new StringBuilder();
    StringBuilder path = new StringBuilder();
    for (Dot dot : curve.dots()) {
      path.append(path.isEmpty() ? "M" : "L")
          .append(coordinates(x(dot.place()), y(scale.place(dot.value()))));
    }
    svg.append("<path class=\"curve\" stroke=\"")
        .append(colour(curve.number()))
        .append("\" d=\"")
        .append(path)
        .append("\"/>\n");
    for (Dot dot : curve.dots()) {
      svg.append("<g><title>")
          .append(Html.text(curve.name() + ", " + dot.says()))
          .append("</title>")
          .append(marker(curve.number(), x(dot.place()), y(scale.place(dot.value()))))
          .append("</g>\n");
    }
    return svg.toString();
  }

  static String colour(int number) {
    return "var(--s" + number % 8 + ")";
  }

  /** A small shape around a point. */
  static String marker(int number, double x, double y) {
    String fill = " fill=\"" + colour(number) + "\"/>";
    return switch (number % 4) {
      case 0 -> String.format(Locale.ROOT, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"", x, y) + fill;
      case 1 ->
          String.format(
                  Locale.ROOT, "<rect x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\"", x - 4, y - 4)
              + fill;
      case 2 -> polygon(x, y - 5, x + 5, y + 4, x - 5, y + 4) + fill;
      default -> polygon(x, y - 5.5, x + 5.5, y, x, y + 5.5, x - 5.5, y) + fill;
    };
  }

  private static String polygon(double... places) {
    StringBuilder points = new StringBuilder("<polygon points=\"");
    for (int i = 0; i < places.length; i += 2) {
      points.append(coordinates(places[i], places[i + 1])).append(' ');
    }
    return points.append('"').toString();
  }

  private static String coordinates(double x, double y) {
    return String.format(Locale.ROOT, "%.1f,%.1f", x, y);
  }

  private static String line(double x1, double y1, double x2, double y2) {
    return String.format(
        Locale.ROOT,
        "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>%n",
        x1,
        y1,
        x2,
        y2);
  }

  private static String text(double x, double y, String anchor, String text) {
    return String.format(
            Locale.ROOT, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor)
        + Html.text(text)
        + "</text>\n";
  }

  private static double x(double place) {
    return LEFT + 10 + place * (WIDTH - LEFT - RIGHT - 20);
  }

  private static double y(double place) {
    return HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM);
  }
}
