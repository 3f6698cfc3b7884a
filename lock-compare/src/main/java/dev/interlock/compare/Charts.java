package dev.interlock.compare;

import dev.interlock.report.Html;
import dev.interlock.report.Unit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;

/** Draws what a scenario wants to be shown. */
final class Charts {
  private final Comparison.Findings findings;

  Charts(Comparison.Findings findings) {
    this.findings = findings;
  }

  /** All charts of a scenario for which there are numbers. */
  String of(Scenario scenario) {
    StringBuilder html = new StringBuilder();
    for (Chart chart : scenario.charts()) {
      String body = body(scenario, chart);
      if (!body.isEmpty()) {
        html.append("<figure>\n")
            .append(Html.element("h3", chart.title()))
            .append(body)
            .append("</figure>\n");
      }
    }
    return html.isEmpty() ? "" : "<div class=\"charts\">\n" + html + "</div>\n";
  }

  /** Which marker means which backend. */
  String legend() {
    StringBuilder html = new StringBuilder("<ul class=\"legend\">\n");
    for (int i = 0; i < findings.backends().size(); i++) {
      html.append("<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\">")
          .append(Plot.marker(i, 7, 7))
          .append("</svg>")
          .append(Html.text(findings.backends().get(i).name()))
          .append("</li>\n");
    }
    return html.append("</ul>\n").toString();
  }

  private String body(Scenario scenario, Chart chart) {
    if (chart instanceof Chart.Bars bars) {
      return bars(scenario, bars);
    } else if (chart instanceof Chart.Lines lines) {
      return lines(scenario, lines);
    } else if (chart instanceof Chart.Latencies latencies) {
      return latencies(scenario, latencies);
    }
    return timeLines(scenario);
  }

  private String bars(Scenario scenario, Chart.Bars chart) {
    double most = 0;
    for (Comparison.Participant backend : findings.backends()) {
      most = Math.max(most, value(scenario, backend, chart).orElse(0.0));
    }
    if (most <= 0) {
      return "";
    }
    StringBuilder html = new StringBuilder("<div class=\"bars\">\n");
    for (int i = 0; i < findings.backends().size(); i++) {
      Comparison.Participant backend = findings.backends().get(i);
      Optional<Double> value = value(scenario, backend, chart);
      if (value.isPresent()) {
        html.append(
            String.format(
                Locale.ROOT,
                "<span>%s</span><span class=\"track\"><span class=\"bar\""
                    + " style=\"width:%.1f%%;background:%s\"></span>"
                    + "<span class=\"number\">%s</span></span>%n",
                Html.text(backend.name()),
                Math.max(0, value.get()) / most * 65,
                Plot.colour(i),
                Html.text(chart.metric().unit().format(value.get()))));
      }
    }
    return html.append("</div>\n").toString();
  }

  private Optional<Double> value(
      Scenario scenario, Comparison.Participant backend, Chart.Bars chart) {
    return findings
        .results()
        .find(scenario.id(), backend.name(), chart.metric(), chart.point())
        .map(Measurement::value);
  }

  private String lines(Scenario scenario, Chart.Lines chart) {
    NavigableSet<Double> places = new TreeSet<>();
    List<Measurement> shown = new ArrayList<>();
    for (Measurement one : findings.results().measurements()) {
      if (one.scenario().equals(scenario.id())
          && one.metric().equals(chart.metric())
          && one.point().dimension().equals(chart.dimension())
          && one.value() > 0) {
        shown.add(one);
        places.add(one.point().value());
      }
    }
    if (places.size() < 2) {
      return "";
    }
    List<Plot.Mark> marks = new ArrayList<>();
    for (double place : places) {
      marks.add(new Plot.Mark(along(places, place), Unit.COUNT.format(place)));
    }
    List<Plot.Curve> curves = new ArrayList<>();
    for (int i = 0; i < findings.backends().size(); i++) {
      String name = findings.backends().get(i).name();
      List<Plot.Dot> dots = new ArrayList<>();
      for (Measurement one : shown) {
        if (one.backend().equals(name)) {
          String says = one.point().label() + ": " + one.metric().unit().format(one.value());
          dots.add(new Plot.Dot(along(places, one.point().value()), one.value(), says));
        }
      }
      curves.add(new Plot.Curve(i, name, dots));
    }
    return Plot.of(chart.title(), curves, marks, chart.axis(), chart.metric().unit());
  }

  /** Logarithmic, from the first to the last of the places. */
  private static double along(NavigableSet<Double> places, double place) {
    return Math.log(place / places.first()) / Math.log(places.last() / places.first());
  }

  private String latencies(Scenario scenario, Chart.Latencies chart) {
    double last = 0;
    List<Plot.Curve> curves = new ArrayList<>();
    for (Results.Distribution one : findings.results().distributions()) {
      if (one.scenario().equals(scenario.id())) {
        for (Results.Distribution.Step step : one.steps()) {
          last = Math.max(last, nines(step.quantile()));
        }
      }
    }
    if (last == 0) {
      return "";
    }
    for (int i = 0; i < findings.backends().size(); i++) {
      String name = findings.backends().get(i).name();
      List<Plot.Dot> dots = new ArrayList<>();
      for (Results.Distribution one : findings.results().distributions()) {
        if (one.scenario().equals(scenario.id()) && one.backend().equals(name)) {
          for (Results.Distribution.Step step : one.steps()) {
            if (step.seconds() > 0) {
              String says = percent(step.quantile()) + ": " + Unit.SECONDS.format(step.seconds());
              dots.add(new Plot.Dot(nines(step.quantile()) / last, step.seconds(), says));
            }
          }
        }
      }
      curves.add(new Plot.Curve(i, name, dots));
    }
    List<Plot.Mark> marks = new ArrayList<>();
    for (double quantile : new double[] {0.5, 0.9, 0.99, 0.999, 0.9999}) {
      if (nines(quantile) <= last) {
        marks.add(new Plot.Mark(nines(quantile) / last, percent(quantile)));
      }
    }
    return Plot.of(chart.title(), curves, marks, "percentile", Unit.SECONDS);
  }

  /** 0.9 is one nine, 0.99 are two: the part that makes the difference gets the room. */
  private static double nines(double quantile) {
    return -Math.log10(1 - quantile);
  }

  private static String percent(double quantile) {
    double percent = Math.round(quantile * 1e6) / 1e4;
    return percent == Math.rint(percent) ? (int) percent + " %" : percent + " %";
  }

  private String timeLines(Scenario scenario) {
    List<Results.TimeLine> lines =
        findings.results().timeLines().stream()
            .filter(line -> line.scenario().equals(scenario.id()))
            .toList();
    double last =
        lines.stream()
            .flatMap(line -> line.events().stream())
            .mapToDouble(Results.TimeLine.Event::seconds)
            .max()
            .orElse(0);
    if (last <= 0) {
      return "";
    }
    StringBuilder html = new StringBuilder();
    for (int i = 0; i < findings.backends().size(); i++) {
      String name = findings.backends().get(i).name();
      for (Results.TimeLine line : lines) {
        if (line.backend().equals(name)) {
          html.append(timeLine(i, line, last));
        }
      }
    }
    return html.toString();
  }

  private static String timeLine(int number, Results.TimeLine line, double last) {
    StringBuilder dots = new StringBuilder();
    StringBuilder list = new StringBuilder();
    int counter = 1;
    for (Results.TimeLine.Event event : line.events()) {
      double x = 12 + event.seconds() / last * 396;
      dots.append(
          String.format(
              Locale.ROOT,
              "<g><title>%s</title><circle cx=\"%.1f\" cy=\"20\" r=\"5\" fill=\"%s\"/>"
                  + "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text></g>%n",
              Html.text(Unit.SECONDS.format(event.seconds()) + ": " + event.what()),
              x,
              Plot.colour(number),
              x,
              counter % 2 == 1 ? 11 : 38, // neighbours in time do not cover each other
              counter));
      list.append(Html.element("li", Unit.SECONDS.format(event.seconds()) + ": " + event.what()));
      counter++;
    }
    return "<div class=\"line\">"
        + Html.element("strong", line.backend())
        + "<svg viewBox=\"0 0 420 42\" role=\"img\" aria-label=\""
        + Html.text(line.backend() + ", time line")
        + "\"><line class=\"grid\" x1=\"12\" y1=\"20\" x2=\"408\" y2=\"20\"/>"
        + dots
        + "</svg>\n<ol>\n"
        + list
        + "</ol></div>\n";
  }
}
