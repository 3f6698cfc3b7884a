package dev.interlock.cli;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.spi.ClientParameters;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockProviders;
import dev.interlock.spi.UriParameter;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Shows the backends on the class path. */
@Command(
    name = "backends",
    description = {
      "Show the available backends: their capabilities, what they guarantee under each fault, and"
          + " the parameters of their URIs."
    },
    footer = {
      "",
      "The command connects to no store. It shows what the backends declare; the compatibility kit"
          + " tests whether that is true. docs/command-line.md describes the fields of the JSON form.",
      "",
      "The exit code is 1 if a backend cannot be loaded."
    })
final class BackendsCommand implements Callable<Integer> {

  private record Document(List<Parameter> clientParameters, Collection<Scheme> backends) {}

  private record Scheme(
      String scheme,
      String name,
      String summary,
      String example,
      SortedSet<Capability> capabilities,
      long minTtlMillis,
      long granularityMillis,
      Map<Fault, Guarantee> failureModel,
      List<Parameter> parameters) {}

  private record Parameter(
      List<String> names, String form, @Nullable String defaultValue, String meaning) {}

  private static final int LINE_WIDTH = 80;

  @Spec private CommandSpec spec;

  @Parameters(
      paramLabel = "SCHEME",
      arity = "0..1",
      description = "Show only this URI scheme, and explain its parameters. Default: all schemes.")
  private @Nullable String only;

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  @Override
  public Integer call() {
    LockProviders providers = LockProviders.find();
    Map<String, LockProvider> schemes = new TreeMap<>();
    for (LockProvider provider : providers.usable()) {
      provider.schemes().forEach(scheme -> schemes.putIfAbsent(scheme, provider));
    }
    if (only != null) {
      schemes.keySet().retainAll(List.of(only));
      if (schemes.isEmpty()) {
        throw new ParameterException(spec.commandLine(), "no backend serves " + only + ": URIs");
      }
    }
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      List<Scheme> all = new ArrayList<>();
      schemes.forEach((scheme, provider) -> all.add(scheme(scheme, provider)));
      Json.print(out, new Document(parameters(ClientParameters.all()), all));
    } else {
      print(schemes, out);
    }
    PrintWriter err = spec.commandLine().getErr();
    providers.problems().forEach(line -> err.println("interlock: cannot load a backend: " + line));
    return providers.problems().isEmpty() ? 0 : ExitCode.PARTIAL;
  }

  private static Scheme scheme(String scheme, LockProvider provider) {
    BackendInfo info = provider.describe(scheme);
    return new Scheme(
        scheme,
        info.name(),
        info.summary(),
        provider.example(scheme),
        new TreeSet<>(info.capabilities()),
        info.minTtl().toMillis(),
        info.granularity().toMillis(),
        info.failureModel().table(),
        parameters(provider.parameters(scheme)));
  }

  private static List<Parameter> parameters(List<UriParameter<?>> parameters) {
    return parameters.stream()
        .map(p -> new Parameter(p.names(), p.form(), p.defaultValue(), p.meaning()))
        .toList();
  }

  /** Groups the schemes of one backend, such as those with and without TLS. */
  private void print(Map<String, LockProvider> schemes, PrintWriter out) {
    Map<BackendInfo, Map<String, LockProvider>> backends = new LinkedHashMap<>();
    schemes.forEach(
        (scheme, provider) ->
            backends
                .computeIfAbsent(provider.describe(scheme), info -> new TreeMap<>())
                .put(scheme, provider));
    backends.forEach((info, ofBackend) -> print(info, ofBackend, out));
    out.println("Every URI also takes");
    printParameters(ClientParameters.all(), out);
  }

  private void print(BackendInfo info, Map<String, LockProvider> schemes, PrintWriter out) {
    out.println(String.join(":, ", schemes.keySet()) + ":");
    row(out, "method", info.summary());
    schemes.forEach((scheme, provider) -> row(out, "example", provider.example(scheme)));
    row(out, "capabilities", words(new TreeSet<>(info.capabilities())));
    row(out, "minimum TTL", Text.of(info.minTtl()));
    row(out, "expiry delay", "at most " + Text.of(info.granularity()));
    Map<Guarantee, List<Fault>> faults = new EnumMap<>(Guarantee.class);
    info.failureModel()
        .table()
        .forEach(
            (fault, survives) ->
                faults.computeIfAbsent(survives, any -> new ArrayList<>()).add(fault));
    faults.forEach((survives, list) -> row(out, label(survives), words(list)));
    Map.Entry<String, LockProvider> first = schemes.entrySet().iterator().next();
    printParameters(first.getValue().parameters(first.getKey()), out);
    out.println();
  }

  private void printParameters(List<UriParameter<?>> parameters, PrintWriter out) {
    if (only == null) {
      List<String> names = parameters.stream().flatMap(p -> p.names().stream()).toList();
      row(out, "parameters", names.isEmpty() ? "none" : String.join(", ", names));
      return;
    }
    for (UriParameter<?> parameter : parameters) {
      String byDefault =
          parameter.defaultValue() == null ? "" : "; default: " + parameter.defaultValue();
      row(
          out,
          String.join(",", parameter.names()),
          parameter.meaning() + " (" + parameter.form() + byDefault + ")");
    }
  }

  /** Prints a label and a text, and wraps the text between words. */
  private static void row(PrintWriter out, String label, String text) {
    StringBuilder line = new StringBuilder(String.format("  %-21s", label));
    int start = 23;
    if (line.length() > start) {
      out.println(line);
      line = new StringBuilder(" ".repeat(start));
    }
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

  private static String label(Guarantee survives) {
    return switch (survives) {
      case EXCLUSION_AND_TOKENS -> "all guarantees under";
      case TOKENS_ONLY -> "only tokens under";
      case EXCLUSION_ONLY -> "only exclusion under";
      case NOTHING -> "no guarantee under";
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
