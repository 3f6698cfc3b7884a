package dev.interlock.peers;

import java.util.Map;

/** What locks do not offer that belong to threads, as {@code ReentrantLock} does. */
final class ThreadOwned {
  private static final String THREADS =
      "the lock belongs to a thread and is reentrant, as documented; the adapter gives each lease a"
          + " thread of its own";

  static final Map<String, String> RULES =
      Map.of("EXCL-06", THREADS, "EXCL-07", THREADS, "LEASE-08", THREADS);

  private ThreadOwned() {}
}
