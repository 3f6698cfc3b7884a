package dev.interlock.report;

import dev.interlock.spi.LockUri;
import java.util.regex.Pattern;

/** How failures are told: in one line, without anybody's password. */
public final class Failures {
  private static final Pattern LINE_BREAKS = Pattern.compile("\\s*\\R\\s*");
  private static final int LONGEST = 300;

  private Failures() {}

  /** Says in one line what went wrong. */
  public static String describe(Throwable failure) {
    String message = failure.getMessage();
    String text = message == null || message.isBlank() ? failure.toString() : message;
    if (failure instanceof LinkageError) { // its message is but the name of what is missing
      text = failure.toString();
    }
    String line = LINE_BREAKS.matcher(text.strip()).replaceAll("; ");
    line = LockUri.redact(line);
    return line.length() <= LONGEST ? line : line.substring(0, LONGEST) + " …";
  }
}
