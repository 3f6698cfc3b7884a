package dev.interlock.tck;

import org.opentest4j.TestAbortedException;

/** A test could not be carried out here, though what it is about exists. */
public final class NotTestedException extends TestAbortedException {
  private static final long serialVersionUID = 1L;

  /**
   * Says what was missing.
   *
   * @param reason what was missing, and how it could be had
   */
  public NotTestedException(String reason) {
    super(reason);
  }
}
