package dev.interlock;

import org.jspecify.annotations.Nullable;

/**
 * The lease ended without being released, and another may hold the lock now. The future {@link
 * Lease#onLoss()} completes with it.
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
   * @param reason the reason
   * @param detail the details, as the end of the sentence "lease of "a" lost (EXPIRED): …"
   * @param cause the last exception of the store or the driver, if there is one
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

  /** {@return the reason of the loss} */
  public LossReason reason() {
    return reason;
  }

  /** {@return further details of the loss, as a phrase for messages} */
  public String detail() {
    return detail;
  }
}
