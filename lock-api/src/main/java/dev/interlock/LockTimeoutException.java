package dev.interlock;

import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Another holder still had the lock when the time to wait for it had passed. {@link
 * DistributedLock#acquire()} throws this if {@link LockOptions#waitTimeout()} is set.
 */
public final class LockTimeoutException extends LockException {

  private static final long serialVersionUID = 1L;

  private final String name;
  private final Duration waited;
  private final @Nullable String holder;

  /**
   * Creates an exception.
   *
   * @param name the lock's name
   * @param waited how long the caller waited
   * @param holder the label of the holder when last seen, or null if it is not known
   */
  public LockTimeoutException(String name, Duration waited, @Nullable String holder) {
    super(
        String.format(
            "lock \"%s\" was still held by %s after %s",
            name, holder == null ? "another holder" : holder, waited),
        null);
    this.name = name;
    this.waited = waited;
    this.holder = holder;
  }

  /** {@return the lock's name} */
  public String name() {
    return name;
  }

  /** {@return how long the caller waited} */
  public Duration waited() {
    return waited;
  }

  /**
   * {@return the {@linkplain LockOptions#label() label} of the holder when last seen} Empty if the
   * holder belongs to another client and the store does not show it to waiters; {@link
   * LockAdmin#inspect} asks for it.
   */
  public Optional<String> heldBy() {
    return Optional.ofNullable(holder);
  }
}
