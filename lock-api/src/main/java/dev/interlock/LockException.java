package dev.interlock;

import org.jspecify.annotations.Nullable;

/**
 * Root of everything that a lock operation throws, apart from bad arguments and interrupts. Only
 * Interlock has subclasses. The class is not sealed, because a later version may bring another one,
 * which must not break a {@code switch}.
 */
public abstract class LockException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  LockException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
