package dev.interlock.testbed.redis;

import java.io.IOException;

/** Thrown with the server's message if Redis answers a command with an error. */
public final class RedisReplyException extends IOException {
  private static final long serialVersionUID = 1L;

  RedisReplyException(String message) {
    super(message);
  }
}
