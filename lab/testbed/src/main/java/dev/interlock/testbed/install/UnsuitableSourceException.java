package dev.interlock.testbed.install;

/** Thrown with the reason if a source of servers is not available here. */
public final class UnsuitableSourceException extends Exception {
  private static final long serialVersionUID = 1L;

  public UnsuitableSourceException(String reason) {
    super(reason);
  }
}
