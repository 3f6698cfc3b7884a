package dev.interlock.spi;

import dev.interlock.LockOptions;
import dev.interlock.LossReason;

/** The services of the engine for a backend. Safe for use by several threads. */
public interface BackendContext {

  /**
   * {@return the client's options} {@link LockOptions#requestTimeout()} applies to every request.
   */
  LockOptions options();

  /** {@return the clocks to use} */
  TimeSource time();

  /**
   * Reports to the engine that the store no longer has a grant. For backends whose store notifies
   * them. Never blocks. Does nothing if the claim's lease has already ended.
   *
   * @param claim the claim of the grant
   * @param reason the reason
   * @param detail the details that the store reported
   */
  void reportLoss(Claim claim, LossReason reason, String detail);
}
