package dev.interlock.tck.sample;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Optional;
import java.util.UUID;
import java.util.function.Predicate;
import org.opentest4j.TestAbortedException;

/**
 * The specimens, seeds and tests that a default run includes. They are drawn from the commit's
 * hash, so the same commit always draws the same ones.
 *
 * @param commit the hash of the commit, or any other text
 */
public record Sample(String commit) {

  /**
   * The system property with the commit, which {@code ./verify} sets. Without it everything runs.
   */
  private static final String PROPERTY = "interlock.sample";

  /** The reason of a skipped test. */
  static final String NOT_INCLUDED = "not in the sample of this commit (./verify --all runs it)";

  /** {@return the sample of this run; empty if everything runs} */
  public static Optional<Sample> ofRun() {
    return Optional.ofNullable(System.getProperty(PROPERTY)).map(Sample::new);
  }

  /**
   * Draws a number.
   *
   * @param key the purpose of the number
   * @return a number of zero or more, which depends only on the commit and the key
   */
  public long draw(String key) {
    return UUID.nameUUIDFromBytes((commit + '/' + key).getBytes(UTF_8)).getLeastSignificantBits()
        & Long.MAX_VALUE;
  }

  /**
   * Returns whether a test, seed or specimen runs.
   *
   * @param included whether a sample includes it
   * @return whether this run's sample includes it; true if this run has no sample
   */
  public static boolean runs(Predicate<Sample> included) {
    return ofRun().map(included::test).orElse(true);
  }

  /**
   * Skips the test that calls this unless it {@linkplain #runs runs}.
   *
   * @param included whether a sample includes it
   */
  public static void require(Predicate<Sample> included) {
    require(included, NOT_INCLUDED);
  }

  static void require(Predicate<Sample> included, String reason) {
    if (!runs(included)) {
      throw new NotInSampleException(reason);
    }
  }

  private static final class NotInSampleException extends TestAbortedException {
    private static final long serialVersionUID = 1L;

    NotInSampleException(String reason) {
      super(reason);
    }

    /** Leaves the stack trace out, since a run has hundreds of these exceptions. */
    @Override
    public synchronized Throwable fillInStackTrace() {
      return this;
    }
  }
}
