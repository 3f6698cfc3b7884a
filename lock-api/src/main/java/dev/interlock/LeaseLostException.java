package dev.interlock;

import org.jspecify.annotations.Nullable;

/**
 * The lease ended without being released: another may hold the lock by now. Also the value with
 * which {@link Lease#lost()} completes.
 */
public final class LeaseLostException extends LockException {

  private static final long serialVersionUID = 1L;

  private final String name;
  private final LossReason reason;
  private final String detail;

  /**
   * Says which lease was lost, and why.
   *
   * @param name the lock's name
   * @param reason why
   * @param detail more about it, as the end of the sentence "lease of "a" lost (EXPIRED): …"
   * @param cause what the store or the driver said, if anything; of a lease that was not renewed in
   *     time, what went wrong last
   */
  public LeaseLostException(
      String name, LossReason reason, String detail, @Nullable Throwable cause) {
    super("lease of \"" + name + "\" lost (" + reason + "): " + detail, cause);
    this.name = name;
    this.reason = reason;
    this.detail = detail;
  }

  /**
   * Returns the lock's name.
   *
   * @return the lock's name
   */
  public String name() {
    return name;
  }

  /**
   * Returns why the lease was lost.
   *
   * @return the reason
   */
  public LossReason reason() {
    return reason;
  }

  /**
   * Returns what is known beyond the reason.
   *
   * @return a phrase for people
   */
  public String detail() {
    return detail;
  }
}
