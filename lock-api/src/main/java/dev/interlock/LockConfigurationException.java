package dev.interlock;

import org.jspecify.annotations.Nullable;

/**
 * The call cannot succeed until a person corrects the setup: a URI that cannot work, a password or
 * certificate that is refused when the client opens, a missing permission, a foreign key under the
 * lock's name. Never retried.
 */
public final class LockConfigurationException extends LockException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception.
   *
   * @param message what is wrong, and what would be right; without any password
   */
  public LockConfigurationException(String message) {
    super(message, null);
  }

  /**
   * Creates an exception.
   *
   * @param message what is wrong, and what would be right; without any password
   * @param cause the driver's own exception, if there is one
   */
  public LockConfigurationException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
