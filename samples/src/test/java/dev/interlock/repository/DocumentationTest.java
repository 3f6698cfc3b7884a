package dev.interlock.repository;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.spi.LockProvider;
import dev.interlock.storm.nemesis.FaultKind;
import java.io.File;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** Checks statements of the pages against the code. */
class DocumentationTest {
  private static final Path TOP = Path.of("..").toAbsolutePath().normalize();
  private static final String CLASS_PATH = System.getProperty("java.class.path");
  private static final String COMMAND = "dev.interlock.cli.Main";
  private static final Pattern LINK = Pattern.compile("]\\(([^)\\s]+)\\)");
  private static final String TABLE_BEGIN = "<!-- failure model: begin -->\n";
  private static final String TABLE_END = "<!-- failure model: end -->";

  @Test
  void theSampleInTheReadmeCompilesAndRuns(@TempDir Path directory) throws Exception {
    String sample = block("java", read("README.md"));
    assertTrue(sample.lines().count() <= 10, "ten lines, not " + sample.lines().count());
    Path source = Files.writeString(directory.resolve("Quickstart.java"), sample);
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter messages = new StringWriter();
    boolean compiled =
        compiler
            .getTask(
                messages,
                null,
                null,
                List.of(
                    "--release",
                    "17",
                    "-Xlint:all,-processing,-path,-classfile,-options",
                    "-Werror",
                    "-proc:none",
                    "-cp",
                    CLASS_PATH,
                    "-d",
                    directory + ""),
                null,
                compiler.getStandardFileManager(null, null, null).getJavaFileObjects(source))
            .call();
    assertTrue(compiled, messages::toString);
    String output = run(CLASS_PATH + File.pathSeparator + directory, "Quickstart");
    assertTrue(output.matches("order 42 is ours, token \\d+\\R"), output);
  }

  @Test
  void theFailureModelIsThatOfTheBackends() throws Exception {
    String page = read("docs/guarantees.md");
    String table = failureModels();
    int begin = page.indexOf(TABLE_BEGIN) + TABLE_BEGIN.length();
    String documented = page.substring(begin, page.indexOf(TABLE_END));
    assertEquals(table, documented, "the table in docs/guarantees.md has to be\n" + table);
  }

  @Test
  void theReadmeListsExactlyTheExistingBackends() throws Exception {
    String readme = read("README.md");
    List<String> listed =
        section(readme, "## Which backend")
            .lines()
            .filter(line -> line.startsWith("| `"))
            .flatMap(line -> matches("`([a-z0-9-]+):", line.split("\\|")[1]))
            .sorted()
            .toList();
    assertEquals(List.copyOf(schemes().keySet()), listed);
  }

  @Test
  void allJsonFieldsAreDocumented() throws Exception {
    String page = read("docs/command-line.md");
    JsonObject backend =
        JsonParser.parseString(run(CLASS_PATH, COMMAND, "backends", "--json"))
            .getAsJsonObject()
            .getAsJsonArray("backends")
            .get(0)
            .getAsJsonObject();
    assertEquals(List.copyOf(backend.keySet()), fields(section(page, "## `backends --json`")));
    JsonElement state =
        JsonParser.parseString(run(CLASS_PATH, COMMAND, "inspect", "--json", "memory:x", "job"));
    assertEquals(
        List.copyOf(state.getAsJsonObject().keySet()),
        fields(section(page, "## `inspect --json`")));
    for (Enum<?> constant : constants()) {
      assertTrue(page.contains("`" + constant.name() + "`"), constant + " is not documented");
    }
  }

  private static List<String> pages() throws IOException {
    try (Stream<Path> top = Files.list(TOP);
        Stream<Path> docs = Files.walk(TOP.resolve("docs"))) {
      return Stream.concat(top, docs)
          .map(page -> TOP.relativize(page).toString())
          .filter(page -> page.endsWith(".md"))
          .sorted()
          .toList();
    }
  }

  @ParameterizedTest
  @MethodSource("pages")
  void everyLinkHasATarget(String page) throws Exception {
    List<String> links = matches(LINK.pattern(), read(page)).toList();
    for (String link : links) {
      if (link.startsWith("https://")) {
        continue;
      }
      String[] parts = link.split("#", 2);
      Path target =
          parts[0].isEmpty() ? TOP.resolve(page) : TOP.resolve(page).resolveSibling(parts[0]);
      assertTrue(Files.exists(target), page + " links to " + link);
      if (parts.length == 2) {
        assertTrue(anchors(target).contains(parts[1]), page + " links to " + link);
      }
    }
    assertFalse(links.isEmpty() && page.equals("README.md"));
  }

  @Test
  void theFaultsOfTheStormAreDocumented() throws Exception {
    List<String> documented =
        section(read("docs/storm.md"), "## What is done")
            .lines()
            .filter(line -> line.startsWith("| ") && !line.startsWith("| fault"))
            .flatMap(line -> Stream.of(line.split("\\|")[1].strip().split(", ")))
            .toList();
    List<String> kinds = Stream.of(FaultKind.values()).map(FaultKind::label).toList();
    assertEquals(kinds, documented);
  }

  @Test
  void theDependenciesInTheReadmeAreThoseOfTheBuild() throws Exception {
    String version = text(xml(Files.readString(TOP.resolve("pom.xml"))), "version").get(0);
    Document snippet = xml("<project>" + block("xml", read("README.md")) + "</project>");
    for (String group : text(snippet, "groupId")) {
      assertEquals("dev.interlock", group);
    }
    assertEquals(List.of(version), text(snippet, "version"));
    for (String artifact : text(snippet, "artifactId")) {
      Path pom =
          artifact.equals("interlock")
              ? TOP.resolve("pom.xml")
              : TOP.resolve(artifact).resolve("pom.xml");
      assertTrue(Files.exists(pom), artifact);
    }
  }

  /** Runs a program in a JVM of its own, and returns what it prints. */
  private static String run(String classPath, String mainClass, String... arguments)
      throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-cp", classPath, mainClass));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertEquals(0, process.waitFor(), output);
    return output;
  }

  // --- what the backends declare ----------------------------------------------------------------

  private static Map<String, BackendInfo> schemes() {
    Map<String, BackendInfo> schemes = new TreeMap<>();
    for (LockProvider provider : ServiceLoader.load(LockProvider.class)) {
      if (!provider.getClass().getPackageName().startsWith("dev.interlock.tutorial")) {
        provider.schemes().forEach(scheme -> schemes.put(scheme, provider.describe(scheme)));
      }
    }
    return schemes;
  }

  private static String failureModels() {
    Map<String, BackendInfo> backends = new LinkedHashMap<>();
    schemes().values().forEach(info -> backends.put(info.name(), info));
    StringBuilder table = new StringBuilder("\n| |");
    backends.keySet().forEach(name -> table.append(" ").append(name).append(" |"));
    table.append("\n|---|").append("---|".repeat(backends.size())).append("\n");
    for (Fault fault : Fault.values()) {
      table.append("| ").append(words(fault)).append(" |");
      for (BackendInfo info : backends.values()) {
        table.append(" ").append(word(info.failureModel().under(fault))).append(" |");
      }
      table.append("\n");
    }
    return table.append("\n").toString();
  }

  private static String word(Guarantee survives) {
    return switch (survives) {
      case EXCLUSION_AND_TOKENS -> "both";
      case TOKENS_ONLY -> "tokens";
      case EXCLUSION_ONLY -> "exclusion";
      case NOTHING -> "none";
      case NOT_APPLICABLE -> "–";
    };
  }

  private static String words(Fault fault) {
    return fault.name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }

  private static Collection<Enum<?>> constants() {
    List<Enum<?>> constants = new ArrayList<>(List.of(Capability.values()));
    constants.addAll(List.of(Guarantee.values()));
    return constants;
  }

  // --- reading the pages ------------------------------------------------------------------------

  private static String read(String page) throws IOException {
    return Files.readString(TOP.resolve(page));
  }

  /** Returns the first code block in a language. */
  private static String block(String language, String page) {
    String fence = "```" + language + "\n";
    int begin = page.indexOf(fence) + fence.length();
    return page.substring(begin, page.indexOf("```", begin));
  }

  private static String section(String page, String heading) {
    int begin = page.indexOf(heading + "\n");
    assertTrue(begin >= 0, heading);
    int end = page.indexOf("\n## ", begin + heading.length());
    return page.substring(begin, end < 0 ? page.length() : end);
  }

  private static List<String> fields(String section) {
    return section
        .lines()
        .filter(line -> line.startsWith("| `"))
        .flatMap(line -> matches("^\\| `(\\w+)`", line))
        .toList();
  }

  private static Stream<String> matches(String pattern, String text) {
    return Pattern.compile(pattern).matcher(text).results().map(DocumentationTest::firstGroup);
  }

  private static String firstGroup(MatchResult result) {
    return result.group(1);
  }

  /** Returns the anchors that hosting sites make from headings. */
  private static List<String> anchors(Path page) throws IOException {
    return Files.readString(page)
        .lines()
        .filter(line -> line.startsWith("#"))
        .map(
            line ->
                line.replaceFirst("^#+ ", "")
                    .toLowerCase(Locale.ROOT)
                    .replaceAll("[^\\p{L}\\p{N} _-]", "")
                    .replace(' ', '-'))
        .collect(Collectors.toList());
  }

  private static Document xml(String text) throws Exception {
    return DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new InputSource(new StringReader(text)));
  }

  private static List<String> text(Document document, String element) {
    NodeList nodes = document.getElementsByTagName(element);
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < nodes.getLength(); i++) {
      texts.add(nodes.item(i).getTextContent());
    }
    return texts;
  }
}
