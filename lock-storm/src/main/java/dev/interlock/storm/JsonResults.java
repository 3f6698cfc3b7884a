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

  static String of(Findings findings) {
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

  private void write(Findings findings) throws IOException {
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
    for (Findings.Gap gap : findings.gaps()) {
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
    tally(storm.tally());
    damage(storm.damage());
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
      json.name("blow").value(one.blow().kind());
      json.name("target").value(one.blow().target());
      json.name("overAt").value(at(storm, one.blow().until()));
      json.name("name").value(one.name());
      json.name("client").value(one.client());
      json.name("seconds").value(seconds(one.took()));
      json.endObject();
    }
    json.endArray();
    json.name("growth").beginArray();
    for (Growth one : storm.growth()) {
      json.beginObject();
      json.name("client").value(one.client());
      json.name("threadsBefore").value(one.threadsBefore());
      json.name("threadsAfter").value(one.threadsAfter());
      json.name("connectionsBefore").value(one.connectionsBefore());
      json.name("connectionsAfter").value(one.connectionsAfter());
      json.endObject();
    }
    json.endArray();
    json.name("blows").beginArray();
    for (Blow blow : storm.blows()) {
      json.beginObject();
      json.name("kind").value(blow.kind());
      json.name("target").value(blow.target());
      json.name("insideModel").value(blow.insideModel());
      json.name("from").value(at(storm, blow.from()));
      json.name("until").value(at(storm, blow.until()));
      json.name("struck").value(blow.struck());
      json.name("note").value(blow.note());
      json.endObject();
    }
    json.endArray();
    json.endObject();
  }

  private void tally(Tally tally) throws IOException {
    json.name("tally").beginObject();
    json.name("grants").value(tally.grants());
    json.name("handedOver").value(tally.handedOver());
    json.name("released").value(tally.released());
    json.name("renewals").value(tally.renewals());
    json.name("abandoned").value(tally.abandoned());
    json.name("cancelled").value(tally.cancelled());
    json.name("timedOut").value(tally.timedOut());
    json.name("unavailable").value(tally.unavailable());
    json.name("lost").value(tally.lost());
    json.name("told").value(tally.told());
    json.endObject();
  }

  private void damage(Damage damage) throws IOException {
    json.name("damage").beginObject();
    json.name("guarded").value(damage.guarded());
    json.name("refused").value(damage.refused());
    json.name("guardedLost").value(damage.guardedLost());
    json.name("unguarded").value(damage.unguarded());
    json.name("unguardedLost").value(damage.unguardedLost());
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
