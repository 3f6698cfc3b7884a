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
 * What {@code charts.mustache} draws: coordinates and texts. A library would draw for paper, with
 * fixed colours and shapes for letters. This page follows the reader's colour scheme, shows each
 * number under the pointer, and needs no script.
 */
final class Charts {
  private static final int WIDTH = 420;
  private static final int HEIGHT = 270;
  private static final int LEFT = 66;
  private static final int RIGHT = 16;
  private static final int TOP = 12;
  private static final int BOTTOM = 44;

  /** Outlines around the origin, by which backends can be told apart without colours. */
  private static final String[] SHAPES = {
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-4,-4h8v8h-8z",
    "M0,-5L5,4L-5,4z",
    "M0,-5.5L5.5,0L0,5.5L-5.5,0z"
  };

  /** One chart; only one of the three is not empty. */
  record Chart(String title, List<Bar> bars, @Nullable Plot plot, List<TimeLine> timeLines) {
    /** Whether it is one of bars. */
    boolean hasBars() {
      return !bars.isEmpty();
    }
  }

  /** How a backend is shown. */
  record Marker(String name, String colour, String shape) {
    static Marker of(int number, String name) {
      return new Marker(name, "var(--s" + number % 8 + ")", SHAPES[number % SHAPES.length]);
    }
  }

  /** A bar; its width is in percent. */
  record Bar(Marker marker, String width, String text) {}

  /** Curves over two axes. */
  record Plot(String horizontal, List<Tick> ticks, List<Mark> marks, List<Curve> curves) {}

  /** A line across the plot at a round number. */
  record Tick(String y, String textY, String text) {}

  /** A mark at the horizontal axis. */
  record Mark(String x, String text) {}

  /** One backend's curve. */
  record Curve(Marker marker, String path, List<Dot> dots) {}

  /** One point of a curve. */
  record Dot(String x, String y, String text) {}

  /** What happened on one backend. */
  record TimeLine(Marker marker, List<Event> events) {}

  /** One event, with its number. */
  record Event(int number, String x, int textY, String text) {}

  /** A point of a curve before the axes are known; its place is from 0 to 1. */
  private record Value(double place, double value, String text) {}

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

  /** All charts of a scenario for which there are numbers. */
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
    double most = shown.stream().mapToDouble(Results.Measurement::value).max().orElse(0);
    List<Bar> bars = new ArrayList<>();
    for (Marker marker : markers) {
      for (Results.Measurement one : shown) {
        if (most > 0 && one.backend().equals(marker.name())) {
          String width = number(Math.max(0, one.value()) / most * 65);
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
    NavigableSet<Double> places = new TreeSet<>();
    shown.forEach(one -> places.add(at(one).value()));
    if (places.size() < 2) {
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
                          along(places, at(one).value()),
                          one.value(),
                          at(one).label() + ": " + one.unit().format(one.value())))
              .toList());
    }
    List<Mark> marks =
        places.stream()
            .map(place -> new Mark(x(along(places, place)), Unit.COUNT.format(place)))
            .toList();
    return plot(curves, marks, chart.axis(), chart.metric().unit());
  }

  private static Point at(Results.Measurement measurement) {
    return Objects.requireNonNull(measurement.at());
  }

  /** Logarithmic, from the first to the last of the places. */
  private static double along(NavigableSet<Double> places, double place) {
    return Math.log(place / places.first()) / Math.log(places.last() / places.first());
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

  /** 0.9 is one nine, 0.99 are two: the part that makes the difference gets the room. */
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
      double y = y(scale.place(tick));
      ticks.add(new Tick(number(y), number(y + 4), unit.shortly(tick)));
    }
    List<Curve> curves = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      Marker marker = markers.get(i);
      List<Dot> dots =
          values.get(i).stream()
              .map(
                  value ->
                      new Dot(
                          x(value.place),
                          number(y(scale.place(value.value))),
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
      boolean above = events.size() % 2 == 0; // neighbours in time do not cover each other
      events.add(
          new Event(
              events.size() + 1,
              number(12 + event.seconds() / last * 396),
              above ? 11 : 38,
              Unit.SECONDS.format(event.seconds()) + ": " + event.what()));
    }
    return events;
  }

  private static String x(double place) {
    return number(LEFT + 10 + place * (WIDTH - LEFT - RIGHT - 20));
  }

  private static double y(double place) {
    return HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM);
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }
}
