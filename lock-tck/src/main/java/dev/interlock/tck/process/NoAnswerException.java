package dev.interlock.tck.process;

import java.io.IOException;

/** Thrown if another process did not answer in time, or got no answer from the store in time. */
public final class NoAnswerException extends IOException {
  private static final long serialVersionUID = 1L;

  NoAnswerException(String message) {
    super(message);
  }
}
