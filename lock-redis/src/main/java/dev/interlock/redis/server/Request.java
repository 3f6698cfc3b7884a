package dev.interlock.redis.server;

import dev.interlock.spi.Deadline;
import org.jspecify.annotations.Nullable;

/**
 * A request that goes through a {@link Pipelines pipeline}. Its methods are called by the thread
 * that serves the pipelines, {@link #failed} by any thread; none may block.
 */
public interface Request {

  /**
   * Decides at the last moment what to send.
   *
   * @param process the process at the other end, as {@link Server#connect} has named it
   * @return null to send nothing
   */
  @Nullable ScriptCall call(String process);

  /**
   * Takes the server's answer.
   *
   * @param reply the answer, possibly an exception
   */
  void answered(Object reply);

  /**
   * Ends the request: it was not sent, or not answered.
   *
   * @param problem why, from Jedis or one of ours
   */
  void failed(RuntimeException problem);

  /** {@return the time after which not to send it} */
  Deadline sendBefore();

  /** {@return whether it may be sent again when the connection breaks, and be carried out twice} */
  default boolean isRepeatable() {
    return true;
  }

  /** {@return whether its sender has withdrawn it, so that it must not be sent again} */
  default boolean isWithdrawn() {
    return false;
  }

  /** {@return what identifies a release, which is kept until it is delivered; null for others} */
  default @Nullable Object releaseId() {
    return null;
  }
}
