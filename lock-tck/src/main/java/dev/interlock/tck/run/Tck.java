package dev.interlock.tck.run;

import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.spi.LockUri;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.report.Report;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A run of the contract against a URI that prints the results, as {@code interlock tck} does.
 *
 * <p>{@link java.util.ServiceLoader} finds the provider, through the thread's class loader. The
 * tests are those of {@link LockTck}.
 *
 * @param uri the store's URI
 * @param rules identifiers of rules, with {@code *} for any characters; an empty list means all
 * @param maxConnections the connections that the store allows, at least {@value
 *     Admission#MIN_CONNECTIONS}
 * @param folder the folder for {@code report.md}, {@code report.json} and JUnit's own {@code
 *     TEST-junit-jupiter.xml}, created if it does not exist; null for no report
 * @param out receives progress and results
 * @param err receives one line with the reason if the kit cannot run
 */
public record Tck(
    String uri,
    List<String> rules,
    int maxConnections,
    @Nullable Path folder,
    PrintWriter out,
    PrintWriter err) {
  /** Exit code: nothing failed. The verdict says whether everything was tested. */
  public static final int PASSED = 0;

  /** Exit code: at least one rule failed. */
  public static final int FAILED = 1;

  /** Exit code: nothing was tested, or the kit could not run. */
  public static final int COULD_NOT_RUN = 2;

  /** A server that works may miss the first attempt if the machine is busy. */
  private static final int MAX_OPEN_ATTEMPTS = 3;

  /** Thrown with a message for the user if the kit cannot run. */
  private static final class Impossible extends Exception {
    private static final long serialVersionUID = 1L;

    Impossible(String message) {
      super(message);
    }
  }

  /**
   * Runs the tests, and waits until they have ended.
   *
   * @return {@link #PASSED}, {@link #FAILED} or {@link #COULD_NOT_RUN}
   */
  public int run() {
    try {
      return runOrThrow();
    } catch (Impossible | IOException e) {
      String message = e instanceof Impossible ? e.getMessage() : e.toString();
      err.println(
          "interlock: " + LockUri.redact(String.valueOf(message).replaceAll("\\s*\\R\\s*", " ")));
      err.flush();
      return COULD_NOT_RUN;
    }
  }

  private int runOrThrow() throws Impossible, IOException {
    Contract contract = Contract.load();
    List<String> asked;
    try {
      asked = contract.matching(rules.isEmpty() ? List.of("*") : rules);
      Admission.checkConnections(maxConnections);
    } catch (IllegalArgumentException e) {
      throw new Impossible(String.valueOf(e.getMessage()));
    }
    BackendInfo backend;
    String endpoint;
    try (LockClient client =
        Kit.open(() -> LockClient.open(uri, LockOptions.defaults()), MAX_OPEN_ATTEMPTS)) {
      backend = client.backend();
      endpoint = client.endpoint();
    } catch (LockException e) {
      throw new Impossible(String.valueOf(e.getMessage()));
    } catch (RuntimeException | LinkageError e) {
      throw new Impossible("the backend cannot be opened, since its provider failed: " + e);
    }
    if (folder != null) {
      Files.createDirectories(folder); // before the run, so that a failure costs no run
    }
    out.println("Testing " + backend.name() + " at " + endpoint + ": " + asked.size() + " rules");
    out.flush();
    Instant started = Instant.now();
    ContractRun run =
        ContractRun.of(
            Harness.at(uri, maxConnections), asked, List.of(), out, Optional.ofNullable(folder));
    Report report = Report.of(backend, endpoint, started, run.rules(), run.tests());
    out.println();
    out.print(report.table());
    out.println();
    out.println(report.summary());
    if (!report.advice().isEmpty()) {
      out.println(report.advice());
    }
    if (folder != null) {
      report.writeTo(folder);
      out.println("Report: " + folder.resolve(Report.MARKDOWN));
    }
    out.flush();
    return switch (report.verdict()) {
      case PASSED, PARTIAL -> PASSED;
      case FAILED -> FAILED;
      case NOTHING_TESTED ->
          throw new Impossible(
              "none of the rules could be tested; the table above gives the reasons");
    };
  }
}
