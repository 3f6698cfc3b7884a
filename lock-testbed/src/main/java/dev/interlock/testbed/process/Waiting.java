package dev.interlock.testbed.process;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Waits, with a deadline, for a state that another process can only be asked about. */
public final class Waiting {
  /** Short enough not to be felt in a test, long enough not to load two cores by asking. */
  private static final long POLL_MILLIS = 10;

  /** A question about the state of a server; an {@link IOException} counts as "not yet". */
  public interface Condition {
    boolean holds() throws IOException;
  }

  /** A question whose answer is empty as long as there is none. */
  public interface Question<T> {
    public Optional<T> answer() throws IOException;
  }

  private Waiting() {}

  /**
   * Asks until the condition holds.
   *
   * @return whether it held within the limit
   * @throws TestbedException if the thread is interrupted; its interrupt flag is set again
   */
  public static boolean until(Duration limit, Condition condition) {
    return answer(limit, () -> held(condition)).isPresent();
  }

  /**
   * Asks until there is an answer.
   *
   * @return the answer, or empty if there was none within the limit
   * @throws TestbedException if the thread is interrupted; its interrupt flag is set again
   */
  public static <T> Optional<T> answer(Duration limit, Question<T> question) {
    return new Asking<>(question).until(limit);
  }

  /**
   * Asks until there is an answer.
   *
   * @param failure what did not happen, for the message
   * @throws TestbedException if there was none within the limit, with what the last question met as
   *     its cause, or if the thread is interrupted
   */
  public static <T> T demand(Duration limit, String failure, Question<T> question) {
    Asking<T> asking = new Asking<>(question);
    return asking
        .until(limit)
        .orElseThrow(
            () -> {
              String met = asking.failure == null ? "" : "; the last try met: " + asking.failure;
              return new TestbedException(
                  failure + " within " + limit.toSeconds() + " s" + met, asking.failure);
            });
  }

  /** As {@link #demand}, for a condition. */
  public static void demandThat(Duration limit, String failure, Condition condition) {
    demand(limit, failure, () -> held(condition));
  }

  private static Optional<Boolean> held(Condition condition) throws IOException {
    return condition.holds() ? Optional.of(true) : Optional.empty();
  }

  /** One question asked again and again. */
  private static final class Asking<T> {
    private final Question<T> question;
    private @Nullable IOException failure;

    Asking(Question<T> question) {
      this.question = question;
    }

    Optional<T> until(Duration limit) {
      long start = System.nanoTime();
      while (true) {
        Optional<T> answer = once();
        if (answer.isPresent() || System.nanoTime() - start >= limit.toNanos()) {
          return answer;
        }
        pause();
      }
    }

    private Optional<T> once() {
      try {
        failure = null;
        return question.answer();
      } catch (IOException notYet) {
        // The server is on its way up or down; the deadline tells what becomes of it.
        failure = notYet;
        return Optional.empty();
      }
    }
  }

  private static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TestbedException("interrupted while waiting for a server", e);
    }
  }
}
