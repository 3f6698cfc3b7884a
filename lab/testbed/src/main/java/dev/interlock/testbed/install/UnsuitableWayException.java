package dev.interlock.testbed.install;

/** Thrown with the reason if a way of getting a server is not available here. */
public final class UnsuitableWayException extends Exception {
  private static final long serialVersionUID = 1L;

  public UnsuitableWayException(String reason) {
    super(reason);
  }
}
