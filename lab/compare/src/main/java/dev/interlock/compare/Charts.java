package dev.interlock.compare;

import dev.interlock.report.Unit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The coordinates and texts that {@code charts.mustache} draws. A chart library would fix the
 * colours and turn letters into shapes. These charts follow the reader's colour scheme, show each
 * number as a tooltip, and need no script.
 */
final class Charts {
  private static final int WIDTH = 420;
  private static final int HEIGHT = 270;
  private static final int LEFT = 66;
  private static final int RIGHT = 16;
  private static final int TOP = 12;
  private static final int BOTTOM = 44;

  /** Outlines around the origin that distinguish backends without colours. */
  private static final String[] SHAPES = {
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-4,-4h8v8h-8z",
    "M0,-5L5,4L-5,4z",
    "M0,-5.5L5.5,0L0,5.5L-5.5,0z"
  };

  /** A chart of one kind; its other two kinds of content are empty. */
  record Chart(String title, List<Bar> bars, @Nullable Plot plot, List<TimeLine> timeLines) {

    boolean hasBars() {
      return !bars.isEmpty();
    }
  }

  /** The colour and shape that stand for a backend. */
  record Marker(String name, String colour, String shape) {
    static Marker of(int number, String name) {
      return new Marker(name, "var(--s" + number % 8 + ")", SHAPES[number % SHAPES.length]);
    }
  }

  /** A bar; its width is in percent. */
  record Bar(Marker marker, String width, String text) {}

  /** Curves on a pair of axes. */
  record Plot(String horizontal, List<Tick> ticks, List<Mark> marks, List<Curve> curves) {}

  /** A horizontal grid line at a round number. */
  record Tick(String y, String textY, String text) {}

  /** A mark on the horizontal axis. */
  record Mark(String x, String text) {}

  /** One backend's curve. */
  record Curve(Marker marker, String path, List<Dot> dots) {}

  /** One point of a curve. */
  record Dot(String x, String y, String text) {}

  /** The events on one backend. */
  record TimeLine(Marker marker, List<Event> events) {}

  /** A numbered event on a time line. */
  record Event(int number, String x, int textY, String text) {}

  /** A point of a curve before the axes are known; {@code position} is from 0 to 1. */
  private record Value(double position, double value, String text) {}

  private final Findings findings;
  private final List<Marker> markers = new ArrayList<>();

  Charts(Findings findings) {
    this.findings = findings;
    for (Findings.Backend backend : findings.backends()) {
      markers.add(Marker.of(markers.size(), backend.name()));
    }
  }

  List<Marker> markers() {
    return markers;
  }

  /** {@return the charts of a scenario that have data} */
  List<Chart> of(Scenario scenario) {
    return scenario.charts().stream().flatMap(chart -> chart(scenario, chart).stream()).toList();
  }

  private Optional<Chart> chart(Scenario scenario, Scenario.Chart chart) {
    List<Bar> bars = List.of();
    Plot plot = null;
    List<TimeLine> timeLines = List.of();
    if (chart instanceof Scenario.Chart.Bars wanted) {
      bars = bars(scenario, wanted.metric());
    } else if (chart instanceof Scenario.Chart.Lines wanted) {
      plot = lines(scenario, wanted);
    } else if (chart instanceof Scenario.Chart.Latencies) {
      plot = latencies(scenario);
    } else {
      timeLines = timeLines(scenario);
    }
    return bars.isEmpty() && plot == null && timeLines.isEmpty()
        ? Optional.empty()
        : Optional.of(new Chart(chart.title(), bars, plot, timeLines));
  }

  private List<Bar> bars(Scenario scenario, Metric metric) {
    List<Results.Measurement> shown =
        measurements(scenario, metric).filter(one -> one.at() == null).toList();
    double max = shown.stream().mapToDouble(Results.Measurement::value).max().orElse(0);
    List<Bar> bars = new ArrayList<>();
    for (Marker marker : markers) {
      for (Results.Measurement one : shown) {
        if (max > 0 && one.backend().equals(marker.name())) {
          String width = number(Math.max(0, one.value()) / max * 65);
          bars.add(new Bar(marker, width, one.unit().format(one.value())));
        }
      }
    }
    return bars;
  }

  private Stream<Results.Measurement> measurements(Scenario scenario, Metric metric) {
    return findings.results().measurements().stream()
        .filter(one -> one.scenario().equals(scenario.id()) && one.metric().equals(metric.id()));
  }

  private @Nullable Plot lines(Scenario scenario, Scenario.Chart.Lines chart) {
    List<Results.Measurement> shown =
        measurements(scenario, chart.metric())
            .filter(
                one ->
                    one.value() > 0
                        && one.at() != null
                        && one.at().dimension().equals(chart.dimension()))
            .toList();
    NavigableSet<Double> positions = new TreeSet<>();
    shown.forEach(one -> positions.add(at(one).value()));
    if (positions.size() < 2) {
      return null;
    }
    List<List<Value>> curves = new ArrayList<>();
    for (Marker marker : markers) {
      curves.add(
          shown.stream()
              .filter(one -> one.backend().equals(marker.name()))
              .map(
                  one ->
                      new Value(
                          logPosition(positions, at(one).value()),
                          one.value(),
                          at(one).label() + ": " + one.unit().format(one.value())))
              .toList());
    }
    List<Mark> marks =
        positions.stream()
            .map(
                position ->
                    new Mark(x(logPosition(positions, position)), Unit.COUNT.format(position)))
            .toList();
    return plot(curves, marks, chart.axis(), chart.metric().unit());
  }

  private static Point at(Results.Measurement measurement) {
    return Objects.requireNonNull(measurement.at());
  }

  /** {@return the place of a position on a logarithmic axis, from 0 to 1} */
  private static double logPosition(NavigableSet<Double> positions, double position) {
    return Math.log(position / positions.first()) / Math.log(positions.last() / positions.first());
  }

  private @Nullable Plot latencies(Scenario scenario) {
    List<Results.Distribution> shown =
        findings.results().distributions().stream()
            .filter(one -> one.scenario().equals(scenario.id()))
            .toList();
    double last =
        shown.stream()
            .flatMap(one -> one.steps().stream())
            .mapToDouble(step -> nines(step.quantile()))
            .max()
            .orElse(0);
    if (last == 0) {
      return null;
    }
    List<List<Value>> curves = new ArrayList<>();
    for (Marker marker : markers) {
      curves.add(
          shown.stream()
              .filter(one -> one.backend().equals(marker.name()))
              .flatMap(one -> one.steps().stream())
              .filter(step -> step.seconds() > 0)
              .map(
                  step ->
                      new Value(
                          nines(step.quantile()) / last,
                          step.seconds(),
                          percent(step.quantile()) + ": " + Unit.SECONDS.format(step.seconds())))
              .toList());
    }
    List<Mark> marks =
        Stream.of(0.5, 0.9, 0.99, 0.999, 0.9999)
            .filter(quantile -> nines(quantile) <= last)
            .map(quantile -> new Mark(x(nines(quantile) / last), percent(quantile)))
            .toList();
    return plot(curves, marks, "percentile", Unit.SECONDS);
  }

  /** {@return the number of nines: 1 for 0.9, 2 for 0.99; this spreads out the high percentiles} */
  private static double nines(double quantile) {
    return -Math.log10(1 - quantile);
  }

  private static String percent(double quantile) {
    double percent = Math.round(quantile * 1e6) / 1e4;
    return percent == Math.rint(percent) ? (int) percent + " %" : percent + " %";
  }

  private Plot plot(List<List<Value>> values, List<Mark> marks, String horizontal, Unit unit) {
    Scale scale = Scale.around(values.stream().flatMap(List::stream).map(Value::value).toList());
    List<Tick> ticks = new ArrayList<>();
    for (double tick : scale.ticks()) {
      double y = y(scale.position(tick));
      ticks.add(new Tick(number(y), number(y + 4), unit.formatForAxis(tick)));
    }
    List<Curve> curves = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      Marker marker = markers.get(i);
      List<Dot> dots =
          values.get(i).stream()
              .map(
                  value ->
                      new Dot(
                          x(value.position),
                          number(y(scale.position(value.value))),
                          marker.name() + ", " + value.text))
              .toList();
      List<String> path = dots.stream().map(dot -> dot.x + "," + dot.y).toList();
      curves.add(new Curve(marker, "M" + String.join("L", path), dots));
    }
    curves.removeIf(curve -> curve.dots.isEmpty());
    return new Plot(horizontal, ticks, marks, curves);
  }

  private List<TimeLine> timeLines(Scenario scenario) {
    List<Results.TimeLine> shown =
        findings.results().timeLines().stream()
            .filter(line -> line.scenario().equals(scenario.id()))
            .toList();
    double last =
        shown.stream()
            .flatMap(line -> line.events().stream())
            .mapToDouble(Results.TimeLine.Event::seconds)
            .max()
            .orElse(0);
    List<TimeLine> lines = new ArrayList<>();
    for (Marker marker : markers) {
      for (Results.TimeLine line : shown) {
        if (last > 0 && line.backend().equals(marker.name())) {
          lines.add(new TimeLine(marker, events(line, last)));
        }
      }
    }
    return lines;
  }

  private static List<Event> events(Results.TimeLine line, double last) {
    List<Event> events = new ArrayList<>();
    for (Results.TimeLine.Event event : line.events()) {
      boolean above = events.size() % 2 == 0; // so that labels do not overlap
      events.add(
          new Event(
              events.size() + 1,
              number(12 + event.seconds() / last * 396),
              above ? 11 : 38,
              Unit.SECONDS.format(event.seconds()) + ": " + event.what()));
    }
    return events;
  }

  private static String x(double position) {
    return number(LEFT + 10 + position * (WIDTH - LEFT - RIGHT - 20));
  }

  private static double y(double position) {
    return HEIGHT - BOTTOM - position * (HEIGHT - TOP - BOTTOM);
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }
}
