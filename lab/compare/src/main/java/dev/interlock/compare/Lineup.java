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

/** Starts and stops the servers of the backends that take part. */
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

  /** {@return the backends whose store answered} */
  List<OpenContender> contenders() {
    return open;
  }

  /** {@return all backends, as the report shows them} */
  List<Findings.Backend> backends() {
    return backends;
  }

  /**
   * Opens all backends concurrently, since most of the time is spent waiting for servers to start.
   * Records those whose store does not answer.
   *
   * @param strict whether to throw if a URI is invalid
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

  /** Stops all servers that started, also those that start after an interrupt. */
  @Override
  public void close() {
    boolean interrupted = Thread.interrupted();
    for (int i = 0; i < opening.size(); i++) {
      try {
        opening.get(i).get().close();
      } catch (ExecutionException e) {
        err.flush(); // it did not start, which has been reported
      } catch (InterruptedException e) {
        interrupted = true;
        i--; // keep waiting, so that no server is left running
      } catch (RuntimeException e) {
        err.println(
            "interlock: could not stop the servers of "
                + contenders.get(i).name()
                + ": "
                + Failures.describe(e));
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
