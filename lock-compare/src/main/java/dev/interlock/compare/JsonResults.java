package dev.interlock.compare;

import com.google.gson.stream.JsonWriter;
import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Survives;
import dev.interlock.Fault;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.TreeSet;

/** The report for programs: {@code results.json}, as {@code docs/results.schema.json} describes. */
final class JsonResults {
  private static final int FORMAT = 1;

  private final JsonWriter json;

  private JsonResults(JsonWriter json) {
    this.json = json;
  }

  static String of(Comparison.Findings findings) {
    StringWriter text = new StringWriter();
    JsonWriter json = new JsonWriter(text);
    json.setIndent("  ");
    try {
      new JsonResults(json).write(findings);
      json.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text + "\n";
  }

  private void write(Comparison.Findings findings) throws IOException {
    json.beginObject();
    json.name("format").value(FORMAT);
    json.name("interlock").value(findings.version());
    json.name("started").value(findings.started().toString());
    json.name("seconds").value(findings.took().toMillis() / 1e3);
    json.name("complete").value(!findings.stopped() && !findings.results().anythingFailed());
    json.name("machine").beginObject();
    for (Map.Entry<String, String> fact : findings.machine().entrySet()) {
      json.name(fact.getKey()).value(fact.getValue());
    }
    json.endObject();
    effort(findings.effort());
    json.name("backends").beginArray();
    for (Comparison.Participant backend : findings.backends()) {
      participant(backend);
    }
    json.endArray();
    json.name("scenarios").beginArray();
    for (Scenario scenario : findings.scenarios()) {
      json.beginObject();
      json.name("id").value(scenario.id());
      json.name("title").value(scenario.title());
      json.name("explanation").value(scenario.explanation());
      json.endObject();
    }
    json.endArray();
    json.name("kit").beginArray();
    for (KitVerdict one : findings.kitVerdicts()) {
      json.beginObject();
      json.name("backend").value(one.backend());
      json.name("verdict").value(one.verdict());
      json.name("summary").value(one.summary());
      json.name("started").value(one.started());
      json.endObject();
    }
    json.endArray();
    results(findings.results());
    json.endObject();
  }

  private void effort(Effort effort) throws IOException {
    json.name("effort").beginObject();
    json.name("name").value(effort.name());
    json.name("rounds").value(effort.rounds());
    json.name("sliceSeconds").value(effort.slice().toMillis() / 1e3);
    json.name("faultRounds").value(effort.faultRounds());
    json.name("ttlSeconds").value(effort.ttl().toMillis() / 1e3);
    json.endObject();
  }

  private void participant(Comparison.Participant backend) throws IOException {
    json.beginObject();
    json.name("name").value(backend.name());
    json.name("scheme").value(backend.scheme());
    json.name("endpoint").value(backend.endpoint());
    json.name("servers").value(backend.servers());
    json.name("durability").value(backend.durability());
    json.name("floor").value(backend.floor());
    BackendInfo info = backend.info();
    if (info != null) {
      json.name("summary").value(info.summary());
      json.name("capabilities").beginArray();
      for (Capability capability : new TreeSet<>(info.capabilities())) {
        json.value(capability.name());
      }
      json.endArray();
      json.name("failureModel").beginObject();
      for (Map.Entry<Fault, Survives> entry : info.failureModel().table().entrySet()) {
        json.name(entry.getKey().name()).value(entry.getValue().name());
      }
      json.endObject();
    }
    json.endObject();
  }

  private void results(Results results) throws IOException {
    json.name("measurements").beginArray();
    for (Measurement one : results.measurements()) {
      measurement(one);
    }
    json.endArray();
    json.name("distributions").beginArray();
    for (Results.Distribution one : results.distributions()) {
      json.beginObject();
      json.name("scenario").value(one.scenario());
      json.name("backend").value(one.backend());
      json.name("steps").beginArray();
      for (Results.Distribution.Step step : one.steps()) {
        json.beginObject();
        json.name("quantile").value(step.quantile());
        json.name("seconds").value(step.seconds());
        json.endObject();
      }
      json.endArray().endObject();
    }
    json.endArray();
    json.name("timeLines").beginArray();
    for (Results.TimeLine one : results.timeLines()) {
      json.beginObject();
      json.name("scenario").value(one.scenario());
      json.name("backend").value(one.backend());
      json.name("events").beginArray();
      for (Results.TimeLine.Event event : one.events()) {
        json.beginObject();
        json.name("seconds").value(event.seconds());
        json.name("what").value(event.what());
        json.endObject();
      }
      json.endArray().endObject();
    }
    json.endArray();
    json.name("gaps").beginArray();
    for (Results.Gap gap : results.gaps()) {
      json.beginObject();
      json.name("scenario").value(gap.scenario());
      json.name("backend").value(gap.backend());
      json.name("reason").value(gap.reason().name());
      json.name("text").value(gap.text());
      json.endObject();
    }
    json.endArray();
  }

  private void measurement(Measurement one) throws IOException {
    json.beginObject();
    json.name("scenario").value(one.scenario());
    json.name("backend").value(one.backend());
    json.name("metric").value(one.metric().id());
    json.name("unit").value(one.metric().unit().symbol());
    if (!one.point().dimension().isEmpty()) {
      json.name("at").beginObject();
      json.name("dimension").value(one.point().dimension());
      json.name("value").value(one.point().value());
      json.endObject();
    }
    json.name("value").value(one.value());
    json.name("rounds").beginArray();
    for (double round : one.rounds()) {
      json.value(round);
    }
    json.endArray();
    json.endObject();
  }
}
