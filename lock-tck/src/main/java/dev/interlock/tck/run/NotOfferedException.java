package dev.interlock.tck.run;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.opentest4j.TestAbortedException;

/**
 * Thrown by a client that adapts another lock to the kit, for each operation that the other lock
 * does not have. A test that calls such an operation ends there. It is reported as not offered, and
 * says nothing else about the lock.
 *
 * <p>Backends of Interlock never throw it, since the rules require every operation.
 */
public final class NotOfferedException extends TestAbortedException {
  private static final long serialVersionUID = 1L;

  /**
   * Aborts the test.
   *
   * @param operation the operation, and its substitute if there is one
   */
  public NotOfferedException(String operation) {
    super(operation);
  }

  /**
   * Looks for such an exception in a failure and its causes, since rules wrap the exceptions of
   * calls under test.
   *
   * @param failure the exception of a test
   * @return the exception, or empty if there is none
   */
  public static Optional<NotOfferedException> in(Throwable failure) {
    int depth = 0;
    for (@Nullable Throwable at = failure; at != null && depth < 100; at = at.getCause(), depth++) {
      if (at instanceof NotOfferedException found) {
        return Optional.of(found);
      }
    }
    return Optional.empty();
  }
}
