package dev.interlock.internal;

import dev.interlock.LockClient;

/** Looks into clients, for simulations. */
public final class Residue {

  private Residue() {}

  /**
   * Counts what a client still keeps.
   *
   * @param client the client
   * @return how many attempts, leases and undoings there are; nothing when nobody uses it
   */
  public static int of(LockClient client) {
    return client instanceof Engine engine
        ? engine.residue() + engine.timer().size() + engine.threadHolds().size()
        : 0;
  }
}
