package dev.interlock;

import org.jspecify.annotations.Nullable;

/**
 * The call cannot succeed until a person corrects the setup. Examples are a URI that cannot work, a
 * password or certificate that the store refuses when the client opens, a missing permission, and a
 * foreign key under the lock's name. The client never retries.
 */
public final class LockConfigurationException extends LockException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception.
   *
   * @param message the problem and how to correct it, without any password
   */
  public LockConfigurationException(String message) {
    super(message, null);
  }

  /**
   * Creates an exception.
   *
   * @param message the problem and how to correct it, without any password
   * @param cause the driver's own exception, if there is one
   */
  public LockConfigurationException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
