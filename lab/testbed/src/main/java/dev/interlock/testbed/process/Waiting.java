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
    Optional<T> answer() throws IOException;
  }

  private Waiting() {}

  /**
   * Asks until the condition holds.
   *
   * @return whether it held within the limit
   * @throws TestbedException if the thread is interrupted; its interrupt flag is set again
   */
  public static boolean until(Duration limit, Condition condition) {
    return answer(limit, asQuestion(condition)).isPresent();
  }

  /**
   * Asks until there is an answer.
   *
   * @return the answer, or empty if there was none within the limit
   * @throws TestbedException if the thread is interrupted; its interrupt flag is set again
   */
  public static <T> Optional<T> answer(Duration limit, Question<T> question) {
    return answer(limit, question, null);
  }

  /**
   * Asks until there is an answer.
   *
   * @param failure what did not happen, for the message
   * @throws TestbedException if there was none within the limit, with what the last question met as
   *     its cause, or if the thread is interrupted
   */
  public static <T> T demand(Duration limit, String failure, Question<T> question) {
    return answer(limit, question, failure).orElseThrow();
  }

  /** As {@link #demand}, for a condition. */
  public static void demandThat(Duration limit, String failure, Condition condition) {
    demand(limit, failure, asQuestion(condition));
  }

  private static Question<Boolean> asQuestion(Condition condition) {
    return () -> condition.holds() ? Optional.of(true) : Optional.empty();
  }

  private static <T> Optional<T> answer(
      Duration limit, Question<T> question, @Nullable String failure) {
    long start = System.nanoTime();
    while (true) {
      IOException met = null;
      try {
        Optional<T> answer = question.answer();
        if (answer.isPresent()) {
          return answer;
        }
      } catch (IOException e) {
        met = e; // the server is starting or stopping
      }
      if (System.nanoTime() - start >= limit.toNanos()) {
        if (failure == null) {
          return Optional.empty();
        }
        String last = met == null ? "" : "; the last try met: " + met;
        throw new TestbedException(failure + " within " + limit.toSeconds() + " s" + last, met);
      }
      try {
        TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new TestbedException("interrupted while waiting for a server", e);
      }
    }
  }
}
