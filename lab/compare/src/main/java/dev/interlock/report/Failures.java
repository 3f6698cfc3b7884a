package dev.interlock.report;

import dev.interlock.spi.LockUri;
import java.nio.file.FileSystemException;
import java.util.regex.Pattern;

/** One-line descriptions of failures, without passwords. */
public final class Failures {
  private static final Pattern LINE_BREAKS = Pattern.compile("\\s*\\R\\s*");
  private static final int MAX_LENGTH = 300;

  private Failures() {}

  /** {@return the failure in one line; passwords are removed, and long messages are cut} */
  public static String describe(Throwable failure) {
    String message = failure.getMessage();
    String text = message == null || message.isBlank() ? failure.toString() : message;
    if (failure instanceof LinkageError // its message is only a class name,
        || (failure instanceof FileSystemException file && file.getReason() == null)) { // or a path
      text = failure.toString();
    }
    String line = LINE_BREAKS.matcher(text.strip()).replaceAll("; ");
    line = LockUri.redact(line);
    return line.length() <= MAX_LENGTH ? line : line.substring(0, MAX_LENGTH) + " …";
  }
}
