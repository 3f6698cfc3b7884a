package dev.interlock.internal;

import dev.interlock.LockClient;

/** What a client still keeps; for the simulation, which holds it to nothing in the end. */
public final class Residue {

  private Residue() {}

  /**
   * Says what a client still keeps.
   *
   * @param client the client
   * @return what there is of attempts, leases, undoings and time-outs; empty if nothing is left
   */
  public static String of(LockClient client) {
    if (!(client instanceof DefaultLockClient engine)) {
      return "";
    }
    String residue = "";
    if (engine.residue() != 0) {
      residue += engine.residue() + " attempts, leases or undoings ";
    }
    if (engine.engine.timer.size() != 0) {
      residue += engine.engine.timer.size() + " timed events ";
    }
    if (engine.acquirer.threadHolds.size() != 0) {
      residue += engine.acquirer.threadHolds.size() + " holds of threads ";
    }
    return residue;
  }
}
