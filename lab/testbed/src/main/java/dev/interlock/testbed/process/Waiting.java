package dev.interlock.testbed.process;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Polls another process until it is in a certain state or a time-out has passed. */
public final class Waiting {
  private static final long POLL_MILLIS = 10;

  /** A condition on the state of a server; an {@link IOException} counts as not yet true. */
  public interface Condition {
    boolean holds() throws IOException;
  }

  /** A question to a server; empty as long as there is no answer. */
  public interface Question<T> {
    Optional<T> answer() throws IOException;
  }

  private Waiting() {}

  /**
   * Polls until the condition holds.
   *
   * @return whether it held within the limit
   * @throws TestbedException if the thread is interrupted; its interrupt status is set again
   */
  public static boolean until(Duration limit, Condition condition) {
    return answer(limit, asQuestion(condition)).isPresent();
  }

  /**
   * Polls until there is an answer.
   *
   * @return the answer, or empty if there was none within the limit
   * @throws TestbedException if the thread is interrupted; its interrupt status is set again
   */
  public static <T> Optional<T> answer(Duration limit, Question<T> question) {
    return answer(limit, question, null);
  }

  /**
   * Polls until there is an answer.
   *
   * @param failure the first words of the message if there is no answer
   * @throws TestbedException if there is no answer within the limit, with the last exception as its
   *     cause, or if the thread is interrupted
   */
  public static <T> T demand(Duration limit, String failure, Question<T> question) {
    return answer(limit, question, failure).orElseThrow();
  }

  /** Polls until the condition holds, and throws as {@link #demand} does. */
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
      IOException lastFailure = null;
      try {
        Optional<T> answer = question.answer();
        if (answer.isPresent()) {
          return answer;
        }
      } catch (IOException e) {
        lastFailure = e; // the server is starting or stopping
      }
      if (System.nanoTime() - start >= limit.toNanos()) {
        if (failure == null) {
          return Optional.empty();
        }
        String last = lastFailure == null ? "" : "; the last attempt failed: " + lastFailure;
        throw new TestbedException(
            failure + " within " + limit.toSeconds() + " s" + last, lastFailure);
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
