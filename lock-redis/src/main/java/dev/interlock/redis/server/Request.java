package dev.interlock.redis.server;

import dev.interlock.spi.Deadline;
import org.jspecify.annotations.Nullable;

/**
 * A request that is sent through a {@link Pipelines pipeline}. The thread that serves the pipelines
 * calls its methods; any thread may call {@link #fail}. No method may block.
 */
public interface Request {

  /**
   * Returns the call to send, just before it is sent.
   *
   * @param process the server process, as {@link Server#connect} has named it
   * @return the call, or null to send nothing
   */
  @Nullable ScriptCall call(String process);

  /**
   * Completes the request with the server's reply.
   *
   * @param reply the reply; an exception if the server replied with an error
   */
  void complete(Object reply);

  /**
   * Fails the request, because it was not sent or not answered.
   *
   * @param problem the reason: an exception of Jedis, or one of ours
   */
  void fail(RuntimeException problem);

  /** {@return the time until which the request may be sent} */
  Deadline sendBefore();

  /**
   * {@return whether the request may be sent again, and so executed twice, if the connection
   * breaks}
   */
  default boolean isRepeatable() {
    return true;
  }

  /** {@return whether the sender has withdrawn the request, so that it must not be sent again} */
  default boolean isWithdrawn() {
    return false;
  }

  /** {@return the identity of a release, which is kept until it is delivered; null for others} */
  default @Nullable Object releaseId() {
    return null;
  }
}
