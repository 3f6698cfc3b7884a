package dev.interlock.storm;

import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The report for programs: {@code results.json}, as {@code docs/storm.md} describes it. Times are
 * seconds from the beginning of the storm.
 */
final class JsonResults {
  private static final int FORMAT = 1;

  private final JsonWriter json;

  private JsonResults(JsonWriter json) {
    this.json = json;
  }

  static String of(StormReport findings) {
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

  private void write(StormReport findings) throws IOException {
    json.beginObject();
    json.name("format").value(FORMAT);
    json.name("interlock").value(findings.version());
    json.name("started").value(findings.started().toString());
    json.name("seconds").value(seconds(findings.took()));
    json.name("seed").value(findings.seed());
    json.name("forSeconds").value(seconds(findings.lasting()));
    json.name("command").value(findings.command());
    json.name("stopped").value(findings.stopped());
    json.name("passed").value(findings.passed());
    json.name("machine").beginObject();
    for (Map.Entry<String, String> fact : findings.machine().entrySet()) {
      json.name(fact.getKey()).value(fact.getValue());
    }
    json.endObject();
    json.name("storms").beginArray();
    for (StormResult storm : findings.results()) {
      storm(storm);
    }
    json.endArray();
    json.name("gaps").beginArray();
    for (StormReport.Gap gap : findings.gaps()) {
      json.beginObject();
      json.name("backend").value(gap.backend());
      json.name("why").value(gap.why());
      json.endObject();
    }
    json.endArray();
    json.endObject();
  }

  private void storm(StormResult storm) throws IOException {
    json.beginObject();
    json.name("name").value(storm.name());
    json.name("backend").value(storm.backend());
    json.name("endpoint").value(storm.endpoint());
    json.name("servers").value(storm.servers());
    json.name("started").value(storm.started().toString());
    json.name("lastedSeconds").value(seconds(storm.lasted()));
    json.name("beyondAtSeconds").value(seconds(storm.plan().beyondAt()));
    json.name("passed").value(storm.passed());
    strings("clients", storm.clients());
    strings("names", storm.names());
    operations(storm.operations());
    writes(storm.writes());
    json.name("overlapsOutside").value(storm.overlapsOutside());
    json.name("overlapsExposed").value(storm.overlapsExposed());
    json.name("findings").beginArray();
    for (Finding finding : storm.findings()) {
      json.beginObject();
      json.name("rule").value(finding.rule());
      json.name("what").value(finding.what());
      json.endObject();
    }
    json.endArray();
    json.name("counterExample").value(storm.counterExample());
    json.name("slowest").beginArray();
    for (Recovery one : storm.slowest()) {
      json.beginObject();
      json.name("fault").value(one.fault().kind());
      json.name("target").value(one.fault().target());
      json.name("overAt").value(at(storm, one.fault().until()));
      json.name("name").value(one.name());
      json.name("client").value(one.client());
      json.name("seconds").value(seconds(one.took()));
      json.endObject();
    }
    json.endArray();
    json.name("resources").beginArray();
    for (ResourceUse one : storm.resources()) {
      json.beginObject();
      json.name("client").value(one.client());
      json.name("threadsBefore").value(one.threadsBefore());
      json.name("threadsAfter").value(one.threadsAfter());
      json.name("connectionsBefore").value(one.connectionsBefore());
      json.name("connectionsAfter").value(one.connectionsAfter());
      json.endObject();
    }
    json.endArray();
    json.name("faults").beginArray();
    for (InjectedFault fault : storm.faults()) {
      json.beginObject();
      json.name("kind").value(fault.kind());
      json.name("target").value(fault.target());
      json.name("insideModel").value(fault.insideModel());
      json.name("from").value(at(storm, fault.from()));
      json.name("until").value(at(storm, fault.until()));
      json.name("tookEffect").value(fault.tookEffect());
      json.name("note").value(fault.note());
      json.endObject();
    }
    json.endArray();
    json.endObject();
  }

  private void operations(OperationCounts operations) throws IOException {
    json.name("operations").beginObject();
    json.name("grants").value(operations.grants());
    json.name("handedOver").value(operations.handedOver());
    json.name("released").value(operations.released());
    json.name("renewals").value(operations.renewals());
    json.name("abandoned").value(operations.abandoned());
    json.name("cancelled").value(operations.cancelled());
    json.name("timedOut").value(operations.timedOut());
    json.name("unavailable").value(operations.unavailable());
    json.name("lost").value(operations.lost());
    json.name("reported").value(operations.reported());
    json.endObject();
  }

  private void writes(WriteCounts writes) throws IOException {
    json.name("writes").beginObject();
    json.name("guarded").value(writes.guarded());
    json.name("refused").value(writes.refused());
    json.name("guardedLost").value(writes.guardedLost());
    json.name("unguarded").value(writes.unguarded());
    json.name("unguardedLost").value(writes.unguardedLost());
    json.endObject();
  }

  private void strings(String name, List<String> strings) throws IOException {
    json.name(name).beginArray();
    for (String one : strings) {
      json.value(one);
    }
    json.endArray();
  }

  private static double at(StormResult storm, long nanos) {
    return seconds(Duration.ofNanos(nanos - storm.origin()));
  }

  private static double seconds(Duration duration) {
    return duration.toMillis() / 1e3;
  }
}
