package dev.interlock.testbed.redis;

import java.io.IOException;

/** Redis answered a command with an error; the message is the server's. */
public final class RedisReplyException extends IOException {
  private static final long serialVersionUID = 1L;

  RedisReplyException(String message) {
    super(message);
  }
}
