package dev.interlock.tck.sample;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Optional;
import java.util.UUID;
import java.util.function.Predicate;
import org.opentest4j.TestAbortedException;

/**
 * The specimens, seeds and tests that a default run includes. The commit's hash draws them: another
 * commit draws others, and the same commit the same.
 *
 * @param commit the hash of the commit, or any other text
 */
public record Sample(String commit) {

  /** System property, set by {@code ./verify}: the commit. Without it everything runs. */
  private static final String PROPERTY = "interlock.sample";

  /** Why a test is skipped. */
  static final String NOT_INCLUDED = "not in the sample of this commit (./verify --all runs it)";

  /** {@return the sample of this run; empty if everything runs} */
  public static Optional<Sample> ofRun() {
    return Optional.ofNullable(System.getProperty(PROPERTY)).map(Sample::new);
  }

  /**
   * Draws a number.
   *
   * @param key what it is drawn for
   * @return a number that is not negative, and the same for the same commit and key
   */
  public long draw(String key) {
    return UUID.nameUUIDFromBytes((commit + '/' + key).getBytes(UTF_8)).getLeastSignificantBits()
        & Long.MAX_VALUE;
  }

  /**
   * Tells whether something runs.
   *
   * @param included whether a sample has it
   * @return true also if this run takes no sample
   */
  public static boolean runs(Predicate<Sample> included) {
    return ofRun().map(included::test).orElse(true);
  }

  /**
   * Skips the test that calls this unless it {@linkplain #runs runs}.
   *
   * @param included whether a sample has it
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

    /** No stack trace: a run has hundreds of them. */
    @Override
    public synchronized Throwable fillInStackTrace() {
      return this;
    }
  }
}
