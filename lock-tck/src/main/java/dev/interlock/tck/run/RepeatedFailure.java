package dev.interlock.tck.run;

import dev.interlock.LockUnavailableException;

/** Marks a failure that came more often than time-outs can, so that no slow machine excuses it. */
public final class RepeatedFailure extends Exception {
  private static final long serialVersionUID = 1L;

  private static final int MAX_TIMEOUTS = 20;

  private RepeatedFailure(int times) {
    super("it failed " + times + " times in a row");
  }

  /**
   * Marks a failure if it has come too often.
   *
   * @param failure the last failure of a request that was repeated
   * @param times how many times it has failed
   */
  public static void mark(LockUnavailableException failure, int times) {
    if (times > MAX_TIMEOUTS) {
      failure.addSuppressed(new RepeatedFailure(times));
    }
  }

  static boolean isMarked(Throwable failure) {
    for (Throwable each : failure.getSuppressed()) {
      if (each instanceof RepeatedFailure) {
        return true;
      }
    }
    return false;
  }
}
