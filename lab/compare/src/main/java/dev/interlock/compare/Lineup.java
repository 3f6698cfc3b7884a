package dev.interlock.compare;

import dev.interlock.LockConfigurationException;
import dev.interlock.report.Contender;
import dev.interlock.report.Failures;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** The backends that take part, and their servers from start to end. */
final class Lineup implements AutoCloseable {
  private final List<Contender> contenders;
  private final Results results;
  private final PrintWriter err;
  private final List<Future<OpenContender>> opening = new ArrayList<>();
  private final List<OpenContender> open = new ArrayList<>();
  private final List<Findings.Backend> backends = new ArrayList<>();

  Lineup(List<Contender> contenders, Results results, PrintWriter err) {
    this.contenders = contenders;
    this.results = results;
    this.err = err;
  }

  /** Those that answered. */
  List<OpenContender> contenders() {
    return open;
  }

  /** All of them, as the report shows them. */
  List<Findings.Backend> backends() {
    return backends;
  }

  /**
   * Opens all at once, since most of the time is spent waiting for servers to come up. Those that
   * do not are noted.
   *
   * @param strict whether a URI that can never be right is an error
   */
  void open(boolean strict) throws InterruptedException {
    ExecutorService starters = Executors.newCachedThreadPool(Run::thread);
    contenders.forEach(
        contender -> opening.add(starters.submit(() -> OpenContender.open(contender))));
    starters.shutdown();
    for (int i = 0; i < contenders.size(); i++) {
      try {
        OpenContender contender = opening.get(i).get();
        Findings.Backend backend = contender.describe();
        open.add(contender);
        backends.add(backend);
        if (!backend.servers().isEmpty()) {
          err.println("interlock: " + contender + ": " + backend.servers());
        }
      } catch (ExecutionException e) {
        Throwable cause = e.getCause() == null ? e : e.getCause();
        if (strict && cause instanceof LockConfigurationException wrong) {
          throw wrong;
        }
        leaveOut(contenders.get(i), Failures.describe(cause));
      }
    }
  }

  private void leaveOut(Contender contender, String why) {
    backends.add(Findings.Backend.leftOut(contender));
    results.gaps().add(new Results.Gap("", contender.name(), Results.Reason.FAILED, why));
    err.println("interlock: " + contender.name() + " is left out: " + why);
  }

  /** Ends everything that came up, even if it did so after an interrupt. */
  @Override
  public void close() {
    boolean interrupted = Thread.interrupted();
    for (int i = 0; i < opening.size(); i++) {
      try {
        opening.get(i).get().close();
      } catch (ExecutionException e) {
        err.flush(); // it did not come up, which has been reported
      } catch (InterruptedException e) {
        interrupted = true;
        i--; // no server is left running, even if the user is impatient
      } catch (RuntimeException e) {
        err.println(
            "interlock: could not end " + contenders.get(i).name() + ": " + Failures.describe(e));
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
