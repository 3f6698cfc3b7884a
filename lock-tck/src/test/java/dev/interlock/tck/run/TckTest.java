package dev.interlock.tck.run;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.BackendInfo;
import dev.interlock.LockUnavailableException;
import dev.interlock.memory.MemoryProvider;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.tck.Harness;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.function.IntSupplier;
import javax.xml.parsers.DocumentBuilderFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TckTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @TempDir Path folder;

  private int run(String uri, String... rules) {
    return run(uri, null, rules);
  }

  private int run(String uri, @Nullable Path report, String... rules) {
    return new Tck(uri, List.of(rules), 100, report, new PrintWriter(out), new PrintWriter(err))
        .run();
  }

  /** Runs the kit with another entry on the class path. */
  private static int with(Path entry, IntSupplier run) throws IOException {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    try (URLClassLoader loader = new URLClassLoader(new URL[] {entry.toUri().toURL()}, before)) {
      Thread.currentThread().setContextClassLoader(loader);
      return run.getAsInt();
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  private void assertRefused(int exit, String... words) {
    assertEquals(Tck.COULD_NOT_RUN, exit, out::toString);
    assertEquals(1, err.toString().lines().count(), err::toString);
    for (String word : words) {
      assertTrue(err.toString().contains(word), () -> word + " is missing from: " + err);
    }
  }

  /** {@return a class path entry that names a provider of this class path} */
  private Path provider(Class<? extends LockProvider> type) throws Exception {
    Path services = folder.resolve("META-INF/services");
    Files.createDirectories(services);
    Files.writeString(services.resolve(LockProvider.class.getName()), type.getName() + "\n");
    return folder;
  }

  /** Reports the wrong holder of a lock, or fails in other ways. */
  public static final class Broken implements LockProvider {
    private final MemoryProvider memory = new MemoryProvider();

    @Override
    public Set<String> schemes() {
      return Set.of("lying", "throwing", "absent");
    }

    @Override
    public BackendInfo describe(String scheme) {
      return memory.describe("memory");
    }

    @Override
    public String example(String scheme) {
      return scheme + ":x";
    }

    @Override
    public LockBackend open(LockUri uri, BackendContext context) {
      return switch (uri.scheme()) {
        case "throwing" -> throw new IllegalStateException("out of\n  luck");
        case "absent" ->
            throw new LockUnavailableException("absent", "host:1", "connection refused", null);
        default -> lying(memory.open(LockUri.parse("memory:" + uri.path()), context));
      };
    }

    private static LockBackend lying(LockBackend honest) {
      return (LockBackend)
          Proxy.newProxyInstance(
              Broken.class.getClassLoader(),
              new Class<?>[] {QueueingBackend.class},
              (proxy, method, arguments) -> {
                if (method.getName().equals("inspect")) {
                  return LockStates.free((String) arguments[0]);
                }
                try {
                  return method.invoke(honest, arguments);
                } catch (InvocationTargetException e) {
                  throw e.getCause();
                }
              });
    }
  }

  @Test
  void aUriWithoutAProviderIsRefusedAndTheProvidersAreListed() {
    assertRefused(run("nosuch://localhost"), "nosuch", "memory:demo");
  }

  @Test
  void aUriThatIsNoneIsRefused() {
    assertRefused(run("no scheme"), "scheme");
  }

  @Test
  void aProviderThatThrowsIsNamedInOneLine() throws Exception {
    assertRefused(
        with(provider(Broken.class), () -> run("throwing:x")),
        "provider failed",
        "IllegalStateException: out of luck");
  }

  @Test
  void aServerThatIsNotThereIsNamed() throws Exception {
    assertRefused(
        with(provider(Broken.class), () -> run("absent:x")), "host:1", "connection refused");
  }

  @Test
  void aServiceEntryThatNamesNoClassIsRefused() throws Exception {
    Path entry = provider(Broken.class);
    Files.writeString(
        folder.resolve("META-INF/services/" + LockProvider.class.getName()), "no.such.Provider");
    assertRefused(with(entry, () -> run("nosuch:x")), "no.such.Provider");
  }

  @Test
  void aRuleThatDoesNotExistIsRefusedAndTheRulesAreListed() {
    assertRefused(run("memory:x", "EXCL-99"), "EXCL-99", "EXCL-01, EXCL-02");
  }

  @Test
  void rulesThatHoldPassAndAreReported() throws Exception {
    Path reports = folder.resolve("some/where");
    int exit = run("memory:tck-test", reports, "excl-06", "FENCE-04", "API-0*");
    assertEquals(Tck.PASSED, exit, () -> out + "\n" + err);
    assertEquals("", err.toString());
    String text = out.toString();
    assertTrue(text.contains("EXCL-06   passed"), text);
    assertTrue(text.contains("[  1/"), text);
    assertTrue(text.contains("PASSED (8 rules: "), text);
    assertTrue(text.contains("does not apply"), text);
    assertTrue(Files.readString(reports.resolve("report.md")).contains("| EXCL-06 "));
    assertTrue(
        Files.readString(reports.resolve("report.json"))
            .contains("{\"id\":\"EXCL-06\",\"title\":\"Leases are not reentrant\""));
    var xml =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(reports.resolve("TEST-junit-jupiter.xml").toFile());
    assertTrue(xml.getElementsByTagName("testcase").getLength() > 5);
  }

  @Test
  void aRuleThatDoesNotHoldFailsTheRunAndSaysWhy() throws Exception {
    int exit =
        with(
            provider(Broken.class),
            () -> run("lying:tck-test", folder.resolve("reports"), "ADMIN-01", "WAIT-01"));
    assertEquals(Tck.FAILED, exit, () -> out + "\n" + err);
    assertTrue(out.toString().contains("ADMIN-01  FAILED"), out::toString);
    assertTrue(out.toString().contains("not held while a lease was"), out::toString);
    assertTrue(out.toString().contains("WAIT-01   passed"), out::toString);
    assertTrue(out.toString().contains("FAILED (2 rules: 1 passed, 1 FAILED)"), out::toString);
    String markdown = Files.readString(folder.resolve("reports/report.md"), UTF_8);
    assertTrue(markdown.contains("Check: Look for a view that is taken from the client's memory."));
  }

  @Test
  void aRunWithoutAHarnessSaysWhatItLacks() {
    int exit = run("memory:x", "REL-03");
    assertEquals(Tck.PASSED, exit, () -> out + "\n" + err);
    String text = out.toString();
    assertTrue(
        text.contains(
            "PARTIAL: all that can be tested from an address has passed (1 rule: 1 partly tested)"),
        text);
    assertTrue(text.contains("The rest needs a Harness that starts servers"), text);
  }

  @Test
  void nothingTestedIsNoSuccess() {
    // memory: has no network and no processes, so this rule cannot be tested at all
    assertRefused(run("memory:x", "EXCL-05"), "none of the rules");
  }

  @Test
  void aBackendThatNoProviderOpensIsNotTestedDirectly() {
    Harness harness = Harness.at("nowhere:x");
    assertThrows(NotTestedException.class, () -> harness.backend("nowhere:x"));
  }
}
