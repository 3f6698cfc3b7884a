package dev.interlock.report;

import dev.interlock.spi.LockUri;
import java.nio.file.FileSystemException;
import java.util.regex.Pattern;

/** Describes failures in one line, without passwords. */
public final class Failures {
  private static final Pattern LINE_BREAKS = Pattern.compile("\\s*\\R\\s*");
  private static final int LONGEST = 300;

  private Failures() {}

  /** {@return in one line what went wrong} */
  public static String describe(Throwable failure) {
    String message = failure.getMessage();
    String text = message == null || message.isBlank() ? failure.toString() : message;
    if (failure instanceof LinkageError // its message is only the name of what is missing,
        || (failure instanceof FileSystemException file && file.getReason() == null)) { // or wrong
      text = failure.toString();
    }
    String line = LINE_BREAKS.matcher(text.strip()).replaceAll("; ");
    line = LockUri.redact(line);
    return line.length() <= LONGEST ? line : line.substring(0, LONGEST) + " …";
  }
}
