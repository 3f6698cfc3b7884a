package dev.interlock.spi;

import dev.interlock.LockOptions;
import dev.interlock.LossReason;

/** What the engine offers to a backend. Safe for use by several threads. */
public interface BackendContext {

  /**
   * {@return the client's options} {@link LockOptions#requestTimeout()} applies to every request.
   */
  LockOptions options();

  /** {@return the clocks to use} */
  TimeSource time();

  /**
   * Reports to the engine that a grant is gone, for backends whose store notifies them. Never
   * blocks; does nothing if the claim's lease has already ended.
   *
   * @param claim the claim of the grant
   * @param reason why
   * @param detail what the store reported
   */
  void reportLoss(Claim claim, LossReason reason, String detail);
}
