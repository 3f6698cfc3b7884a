package dev.interlock.compare;

import dev.interlock.LockConfigurationException;
import dev.interlock.compare.Comparison.Participant;
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
  private final List<Future<Subject>> opening = new ArrayList<>();
  private final List<Subject> subjects = new ArrayList<>();
  private final List<Participant> participants = new ArrayList<>();

  Lineup(List<Contender> contenders, Results results, PrintWriter err) {
    this.contenders = contenders;
    this.results = results;
    this.err = err;
  }

  /** Those that answered. */
  List<Subject> subjects() {
    return subjects;
  }

  /** All of them, as the report shows them. */
  List<Participant> participants() {
    return participants;
  }

  /**
   * Opens all at once, since most of the time is spent waiting for servers to come up. Those that
   * do not are noted.
   *
   * @param strict whether a URI that can never be right is an error
   */
  void open(boolean strict) throws InterruptedException {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    ExecutorService starters =
        Executors.newCachedThreadPool(
            work -> {
              Thread thread = new Thread(work, "starter");
              thread.setContextClassLoader(loader);
              thread.setDaemon(true);
              return thread;
            });
    contenders.forEach(contender -> opening.add(starters.submit(() -> Subject.open(contender))));
    starters.shutdown();
    for (int i = 0; i < contenders.size(); i++) {
      try {
        Subject subject = opening.get(i).get();
        subjects.add(subject);
        participants.add(present(subject));
        if (!subject.servers().isEmpty()) {
          err.println("interlock: " + subject + ": " + subject.servers());
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
    participants.add(
        new Participant(
            contender.name(), contender.scheme(), "", null, "", contender.durability(), ""));
    results.add(new Results.Gap("", contender.name(), Results.Reason.FAILED, why));
    err.println("interlock: " + contender.name() + " is left out: " + why);
  }

  private static Participant present(Subject subject) {
    return new Participant(
        subject.name(),
        subject.scheme(),
        subject.endpoint(),
        subject.info(),
        subject.servers(),
        subject.durability(),
        subject.driver().map(BareDriver::summary).orElse(""));
  }

  /** Ends everything that came up, also what nobody has waited for. */
  @Override
  public void close() {
    boolean interrupted = Thread.interrupted();
    for (int i = 0; i < opening.size(); i++) {
      try {
        opening.get(i).get().close();
      } catch (ExecutionException e) {
        err.flush(); // it did not come up, which has been said
      } catch (InterruptedException e) {
        interrupted = true;
        i--; // servers are not left running, however impatient the user is
      } catch (RuntimeException e) {
        err.println(
            "interlock: " + contenders.get(i).name() + " was not ended: " + Failures.describe(e));
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
