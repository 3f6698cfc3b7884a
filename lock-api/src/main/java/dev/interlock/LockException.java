package dev.interlock;

import org.jspecify.annotations.Nullable;

/** Root of everything that a lock operation throws, apart from bad arguments and interrupts. */
public abstract sealed class LockException extends RuntimeException
    permits LockUnavailableException,
        LeaseLostException,
        LockTimeoutException,
        LockConfigurationException,
        StaleTokenException {

  private static final long serialVersionUID = 1L;

  LockException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
