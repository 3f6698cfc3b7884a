package dev.interlock.testbed.install;

/** One way of getting a server does not serve here, with the reason; the next one may. */
public final class UnsuitableWayException extends Exception {
  private static final long serialVersionUID = 1L;

  public UnsuitableWayException(String reason) {
    super(reason);
  }
}
