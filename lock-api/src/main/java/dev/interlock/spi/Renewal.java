package dev.interlock.spi;

import dev.interlock.LockException;
import dev.interlock.LossReason;

/** How the renewal of one grant ended. */
public sealed interface Renewal {

  /**
   * The store confirmed it, and measures the grant's {@linkplain Grant#validityPerConfirmation()
   * validity} anew. The engine counts it from before it called the backend.
   */
  record Confirmed() implements Renewal {}

  /**
   * The store confirmed it until a time that only the backend knows, such as the end of a session.
   *
   * @param validUntil until when the grant is certain now, counted from before the renewing request
   *     was sent
   */
  record Renewed(long validUntil) implements Renewal {}

  /**
   * The store no longer has the grant.
   *
   * @param reason why, as far as known
   * @param detail what the store answered
   */
  record Gone(LossReason reason, String detail) implements Renewal {}

  /**
   * The store did not confirm it; the engine tries again while the grant is valid.
   *
   * @param problem why
   */
  record Failed(LockException problem) implements Renewal {}
}
