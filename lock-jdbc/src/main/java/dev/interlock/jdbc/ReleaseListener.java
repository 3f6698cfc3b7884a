package dev.interlock.jdbc;

import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.WakeUp;

/** Signals waiters when locks may have become free. */
interface ReleaseListener extends AutoCloseable {

  /** For databases that notify nobody: waiters poll. */
  ReleaseListener NONE =
      new ReleaseListener() {
        @Override
        public Watch watch(String name, WakeUp wakeUp) {
          return () -> {};
        }

        @Override
        public boolean isWatching(String name) {
          return false;
        }

        @Override
        public void close() {}
      };

  /** Signals at every release of the lock that is notified, until closed. Does not block. */
  Watch watch(String name, WakeUp wakeUp);

  /** {@return whether a release of the lock has to be notified} */
  boolean isWatching(String name);

  @Override
  void close();
}
