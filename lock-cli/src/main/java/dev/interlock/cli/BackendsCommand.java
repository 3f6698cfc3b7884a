package dev.interlock.cli;

import com.google.gson.stream.JsonWriter;
import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Survives;
import dev.interlock.Fault;
import dev.interlock.spi.LockProvider;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows all backends on the class path. */
@Command(
    name = "backends",
    description = {
      "Show the backends that are there, what they can do, and what they promise under which fault."
    },
    footer = {
      "",
      "Nothing is connected to: this is what the backends declare, and what the compatibility kit"
          + " holds them to. The fields of the JSON form are described in docs/command-line.md."
    })
final class BackendsCommand implements Runnable {

  /**
   * One URI scheme.
   *
   * @param scheme the scheme
   * @param example a complete URI
   * @param info what its backend promises
   */
  private record Scheme(String scheme, String example, BackendInfo info) {}

  private static final int LINE_WIDTH = 80;

  @Spec
  @SuppressWarnings("NullAway.Init") // set by picocli
  private CommandSpec spec;

  @Option(names = "--json", description = "Write JSON.")
  private boolean json;

  @Override
  public void run() {
    List<Scheme> schemes = schemes();
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      Json.print(out, writer -> write(schemes, writer));
    } else {
      print(schemes, out);
    }
  }

  private static List<Scheme> schemes() {
    Map<String, Scheme> sorted = new TreeMap<>();
    for (LockProvider provider : ServiceLoader.load(LockProvider.class)) {
      for (String scheme : provider.schemes()) {
        sorted.putIfAbsent(
            scheme, new Scheme(scheme, provider.example(scheme), provider.describe(scheme)));
      }
    }
    return new ArrayList<>(sorted.values());
  }

  private static void write(List<Scheme> schemes, JsonWriter json) throws IOException {
    json.beginObject().name("backends").beginArray();
    for (Scheme scheme : schemes) {
      BackendInfo info = scheme.info();
      json.beginObject();
      json.name("scheme").value(scheme.scheme());
      json.name("name").value(info.name());
      json.name("summary").value(info.summary());
      json.name("example").value(scheme.example());
      json.name("capabilities").beginArray();
      for (Capability capability : new TreeSet<>(info.capabilities())) {
        json.value(capability.name());
      }
      json.endArray();
      json.name("minTtlMillis").value(info.minTtl().toMillis());
      json.name("granularityMillis").value(info.granularity().toMillis());
      json.name("failureModel").beginObject();
      for (Map.Entry<Fault, Survives> entry : info.failureModel().table().entrySet()) {
        json.name(entry.getKey().name()).value(entry.getValue().name());
      }
      json.endObject();
      json.endObject();
    }
    json.endArray().endObject();
  }

  /** Schemes of one backend, such as those with and without TLS, are shown together. */
  private static void print(List<Scheme> schemes, PrintWriter out) {
    Map<BackendInfo, List<Scheme>> backends = new LinkedHashMap<>();
    for (Scheme scheme : schemes) {
      backends.computeIfAbsent(scheme.info(), info -> new ArrayList<>()).add(scheme);
    }
    backends.forEach((info, same) -> print(info, same, out));
  }

  private static void print(BackendInfo info, List<Scheme> schemes, PrintWriter out) {
    out.println(
        schemes.stream().map(scheme -> scheme.scheme() + ":").collect(Collectors.joining(", ")));
    row(out, "how", info.summary());
    schemes.forEach(scheme -> row(out, "example", scheme.example()));
    row(out, "capabilities", words(new TreeSet<>(info.capabilities())));
    row(out, "shortest TTL", Text.of(info.minTtl()));
    row(out, "expires late by", Text.of(info.granularity()) + " at most");
    Map<Survives, List<Fault>> faults = new EnumMap<>(Survives.class);
    info.failureModel()
        .table()
        .forEach(
            (fault, survives) ->
                faults.computeIfAbsent(survives, any -> new ArrayList<>()).add(fault));
    faults.forEach((survives, list) -> row(out, promise(survives), words(list)));
    out.println();
  }

  /** A label and a text, which is broken between words where the line gets long. */
  private static void row(PrintWriter out, String label, String text) {
    StringBuilder line = new StringBuilder(String.format("  %-21s", label));
    int start = line.length();
    for (String word : text.split(" ", -1)) {
      if (line.length() > start && line.length() + 1 + word.length() > LINE_WIDTH) {
        out.println(line);
        line.setLength(0);
        line.append(" ".repeat(start));
      }
      line.append(line.length() > start ? " " : "").append(word);
    }
    out.println(line);
  }

  private static String promise(Survives survives) {
    return switch (survives) {
      case EXCLUSION_AND_TOKENS -> "all holds under";
      case TOKENS_ONLY -> "only tokens under";
      case EXCLUSION_ONLY -> "only exclusion under";
      case NOTHING -> "nothing holds under";
      case NOT_APPLICABLE -> "cannot happen";
    };
  }

  private static String words(Collection<? extends Enum<?>> constants) {
    return constants.isEmpty()
        ? "none"
        : constants.stream()
            .map(constant -> constant.name().toLowerCase(Locale.ROOT).replace('_', ' '))
            .collect(Collectors.joining(", "));
  }
}
