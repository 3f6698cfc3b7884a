package dev.interlock;

import org.jspecify.annotations.Nullable;

/**
 * The lease ended without being released; another may hold the lock by now. Also the value of the
 * future {@link Lease#onLoss()}.
 */
public final class LeaseLostException extends LockException {

  private static final long serialVersionUID = 1L;

  private final String name;
  private final LossReason reason;
  private final String detail;

  /**
   * Creates an exception for one lease.
   *
   * @param name the lock's name
   * @param reason why
   * @param detail more about it, as the end of the sentence "lease of "a" lost (EXPIRED): …"
   * @param cause the exception of the store or the driver, if any; for a lease that was not renewed
   *     in time, the last one
   */
  public LeaseLostException(
      String name, LossReason reason, String detail, @Nullable Throwable cause) {
    super("lease of \"" + name + "\" lost (" + reason + "): " + detail, cause);
    this.name = name;
    this.reason = reason;
    this.detail = detail;
  }

  /** {@return the lock's name} */
  public String name() {
    return name;
  }

  /** {@return why the lease was lost} */
  public LossReason reason() {
    return reason;
  }

  /** {@return what is known beyond the reason, as a phrase for people} */
  public String detail() {
    return detail;
  }
}
