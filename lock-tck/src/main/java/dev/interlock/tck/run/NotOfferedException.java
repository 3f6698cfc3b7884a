package dev.interlock.tck.run;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.opentest4j.TestAbortedException;

/**
 * Thrown by a client that adapts another lock to the kit, from each operation that the other lock
 * does not have. A test that calls such an operation ends there and is reported as not offered,
 * with the operation; it says nothing about the lock.
 *
 * <p>No backend of Interlock throws it: it would keep none of the rules.
 */
public final class NotOfferedException extends TestAbortedException {
  private static final long serialVersionUID = 1L;

  /**
   * Aborts the test.
   *
   * @param operation the operation, and where useful what there is instead
   */
  public NotOfferedException(String operation) {
    super(operation);
  }

  /**
   * Looks for such an exception among a failure and its causes: rules wrap what the calls under
   * test throw.
   *
   * @param failure what a test threw
   * @return the exception, or empty if the failure is another one
   */
  public static Optional<NotOfferedException> in(Throwable failure) {
    int deep = 0;
    for (@Nullable Throwable at = failure; at != null && deep < 100; at = at.getCause(), deep++) {
      if (at instanceof NotOfferedException found) {
        return Optional.of(found);
      }
    }
    return Optional.empty();
  }
}
