package dev.interlock.simulation.workload;

import dev.interlock.LockException;
import dev.interlock.simulation.oracle.Journal;

/** The part of a world that its programs use. */
public interface ProgramContext {

  Plan plan();

  Journal journal();

  long now();

  void fail(String rule, String what);

  /** {@return whether the tokens that the store shows are those of leases} */
  boolean isTokenOfStore();

  /** {@return whether the store is one of the models, which record their answers} */
  boolean isOnModel();

  /** {@return whether the store always answers} */
  boolean isStoreAvailable();

  /** Fails if a name was refused although all clients agree on its kind. */
  void checkRefusal(Plan.Op op, LockException e);

  /** Fails if the store was available, and the operation had enough time to ask it. */
  void checkUnavailability(Plan.Op op, LockException e);
}
