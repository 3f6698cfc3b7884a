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
        public boolean isListening() {
          return false;
        }

        @Override
        public void close() {}
      };

  /** Signals at every release of the lock that is notified, until closed. Does not block. */
  Watch watch(String name, WakeUp wakeUp);

  /** {@return whether those who watch hear of releases at the moment} */
  boolean isListening();

  @Override
  void close();
}
