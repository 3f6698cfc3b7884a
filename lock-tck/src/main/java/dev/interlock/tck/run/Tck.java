package dev.interlock.tck.run;

import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.report.Report;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Runs the contract against a URI, and prints the results, as {@code interlock tck} does.
 *
 * <pre>{@code
 * int exit = new Tck("mystore://localhost:1234", out, err).rules(List.of("EXCL-*")).run();
 * }</pre>
 *
 * <p>{@link java.util.ServiceLoader} finds the provider, on the class path and in what {@link
 * #classPath} adds. The tests are those of {@link LockTck}.
 */
public final class Tck {
  /** Exit code: nothing failed. The verdict says whether everything was tested. */
  public static final int PASSED = 0;

  /** Exit code: at least one rule failed. */
  public static final int FAILED = 1;

  /** Exit code: there was nothing to run, or the run was impossible. */
  public static final int COULD_NOT_RUN = 2;

  private static final String SERVICES = "META-INF/services/" + LockProvider.class.getName();

  private final String uri;
  private final PrintWriter out;
  private final PrintWriter err;
  private List<Path> classPath = List.of();
  private List<String> rules = List.of();
  private Optional<Path> folder = Optional.empty();

  /**
   * Prepares a run of all rules.
   *
   * @param uri the store's URI
   * @param out receives progress and results
   * @param err receives one line with the reason if the run is impossible
   */
  public Tck(String uri, PrintWriter out, PrintWriter err) {
    this.uri = uri;
    this.out = out;
    this.err = err;
  }

  /**
   * Adds jars, or folders of classes, to search for the provider.
   *
   * @param entries the files
   * @return this
   */
  public Tck classPath(List<Path> entries) {
    this.classPath = List.copyOf(entries);
    return this;
  }

  /**
   * Runs only some of the rules.
   *
   * @param patterns identifiers, with {@code *} for any characters; none means all
   * @return this
   */
  public Tck rules(List<String> patterns) {
    this.rules = List.copyOf(patterns);
    return this;
  }

  /**
   * Writes {@code report.md}, {@code report.json} and JUnit's own {@code TEST-junit-jupiter.xml}.
   *
   * @param where the folder, created if it does not exist
   * @return this
   */
  public Tck report(Path where) {
    this.folder = Optional.of(where);
    return this;
  }

  /** A run is impossible; the message is for people. */
  private static final class Impossible extends Exception {
    private static final long serialVersionUID = 1L;

    Impossible(String message) {
      super(message);
    }
  }

  /**
   * Runs the tests. Blocks until they have ended.
   *
   * @return {@link #PASSED}, {@link #FAILED} or {@link #COULD_NOT_RUN}
   */
  public int run() {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    try (URLClassLoader loader = classLoader(before)) {
      Thread.currentThread().setContextClassLoader(loader);
      return runWithProviders();
    } catch (Impossible | IOException e) {
      String message = e instanceof Impossible ? e.getMessage() : e.toString();
      err.println(
          "interlock: " + LockUri.redact(String.valueOf(message).replaceAll("\\s*\\R\\s*", " ")));
      err.flush();
      return COULD_NOT_RUN;
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  private URLClassLoader classLoader(ClassLoader parent) throws Impossible, IOException {
    List<URL> urls = new ArrayList<>();
    for (Path entry : classPath) {
      if (!Files.exists(entry)) {
        throw new Impossible(entry + " does not exist; --classpath takes jars and folders");
      }
      urls.add(url(entry));
    }
    URLClassLoader loader = new URLClassLoader(urls.toArray(URL[]::new), parent);
    if (!urls.isEmpty() && loader.findResource(SERVICES) == null) {
      loader.close();
      throw new Impossible(
          "no lock backend in "
              + String.join(", ", classPath.stream().map(Path::toString).toList())
              + ": a file "
              + SERVICES
              + " must name the class that implements LockProvider");
    }
    return loader;
  }

  private static URL url(Path entry) throws Impossible {
    try {
      return entry.toUri().toURL();
    } catch (MalformedURLException e) {
      throw new Impossible(entry + " cannot be put on a class path");
    }
  }

  private int runWithProviders() throws Impossible, IOException {
    Contract contract = Contract.load();
    List<String> asked = asked(contract);
    BackendInfo backend;
    String endpoint;
    try (LockClient client = LockClient.open(uri, LockOptions.defaults())) {
      backend = client.backend();
      endpoint = client.endpoint();
    } catch (LockException e) {
      throw new Impossible(String.valueOf(e.getMessage()));
    } catch (RuntimeException | LinkageError e) {
      throw new Impossible("the backend cannot be opened; its provider failed: " + e);
    }
    if (folder.isPresent()) {
      Files.createDirectories(folder.get()); // fails before the run, not after it
    }
    out.println("Testing " + backend.name() + " at " + endpoint + ": " + asked.size() + " rules");
    out.flush();
    Instant started = Instant.now();
    long start = System.nanoTime();
    ContractRun run = ContractRun.of(Harness.at(uri), asked, List.of(), out, folder);
    Report report =
        new Report(
            backend,
            endpoint,
            started,
            Duration.ofNanos(System.nanoTime() - start),
            Report.thisJava(),
            run.rules(),
            run.tests());
    out.println();
    out.print(report.table());
    out.println();
    out.println(report.summary());
    out.flush();
    if (folder.isPresent()) {
      write(folder.get(), report);
    }
    return switch (report.verdict()) {
      case PASSED, PARTIAL -> PASSED;
      case FAILED -> FAILED;
      case NOTHING_TESTED -> throw new Impossible("none of the rules could be tested; see above");
    };
  }

  private List<String> asked(Contract contract) throws Impossible {
    try {
      return rules.isEmpty()
          ? contract.rules().stream().map(ContractRule::id).toList()
          : contract.matching(rules);
    } catch (IllegalArgumentException e) {
      throw new Impossible(String.valueOf(e.getMessage()));
    }
  }

  private void write(Path where, Report report) throws IOException {
    report.writeTo(where);
    out.println("Report: " + where.resolve(Report.MARKDOWN));
    out.flush();
  }
}
