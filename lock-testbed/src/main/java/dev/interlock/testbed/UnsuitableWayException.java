package dev.interlock.testbed;

/** One way of getting a server does not serve here, with the reason; the next one may. */
final class UnsuitableWayException extends Exception {
  private static final long serialVersionUID = 1L;

  UnsuitableWayException(String reason) {
    super(reason);
  }
}
