package dev.interlock;

import org.jspecify.annotations.Nullable;

/**
 * A failure of a lock operation, except for illegal arguments and states, and interrupts. Only
 * Interlock has subclasses. The class is not sealed, because a later version may add a subclass,
 * which must not break a {@code switch}.
 */
public abstract class LockException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  LockException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
