package dev.interlock.spi;

import dev.interlock.LockException;
import dev.interlock.LossReason;

/** The outcome of the renewal of one grant. */
public sealed interface Renewal {

  /**
   * The store confirmed the renewal, and the grant's {@linkplain Grant#validityPerConfirmation()
   * validity} starts anew. The engine counts it from before its call of the backend.
   */
  record Confirmed() implements Renewal {}

  /**
   * The store confirmed the renewal until a time that only the backend knows, such as the end of a
   * session.
   *
   * @param validUntil the time until which the grant is certain, counted from before the renewing
   *     request was sent
   */
  record Renewed(long validUntil) implements Renewal {}

  /**
   * The store no longer has the grant.
   *
   * @param reason the reason, as far as it is known
   * @param detail the answer of the store
   */
  record Lost(LossReason reason, String detail) implements Renewal {}

  /**
   * The store did not confirm the renewal; the engine tries again while the grant is valid.
   *
   * @param problem the failure
   */
  record Failed(LockException problem) implements Renewal {}
}
