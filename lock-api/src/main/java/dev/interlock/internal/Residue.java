package dev.interlock.internal;

import dev.interlock.LockClient;

/** The state that a client still keeps; for the simulation, which expects none at the end. */
public final class Residue {

  private Residue() {}

  /**
   * Describes the state that a client still keeps.
   *
   * @param client the client
   * @return its attempts, leases, undoings and timed events; empty if there are none
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
