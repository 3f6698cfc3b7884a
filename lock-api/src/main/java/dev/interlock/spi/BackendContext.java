package dev.interlock.spi;

import dev.interlock.LockOptions;
import dev.interlock.LossReason;

/** What the engine offers to a backend. May be used from any thread. */
public interface BackendContext {

  /**
   * Returns the client's options; {@link LockOptions#requestTimeout()} is the time-out of every
   * request.
   *
   * @return the client's options
   */
  LockOptions options();

  /**
   * Returns the clocks to go by.
   *
   * @return the clocks
   */
  TimeSource time();

  /**
   * Tells the engine that a grant is gone, for backends that are told by the store. Never blocks;
   * does nothing if the claim's lease has already ended.
   *
   * @param claim the claim of the grant
   * @param reason why
   * @param detail what the store said
   */
  void lost(Claim claim, LossReason reason, String detail);
}
