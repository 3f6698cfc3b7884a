package dev.interlock.simulation.workload;

import dev.interlock.LockException;
import dev.interlock.simulation.oracle.Journal;

/** What programs know of their world. */
public interface Surroundings {

  Plan plan();

  Journal journal();

  long now();

  void fail(String rule, String what);

  /** Whether what the store shows as a token is that of the lease. */
  boolean isTokenOfStore();

  /** Whether the store is one of the models, which record what they answer. */
  boolean isOnModel();

  /** Whether the store always answers. */
  boolean isStoreThere();

  /** Fails if a name was refused although all clients agree on its kind. */
  void refused(Plan.Op op, LockException e);

  /** Fails if the store was there, and the operation had the time to ask it. */
  void unavailable(Plan.Op op, LockException e);
}
