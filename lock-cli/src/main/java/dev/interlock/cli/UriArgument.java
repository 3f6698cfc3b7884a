package dev.interlock.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * A lock URI, or where it is: {@code env:NAME} stands for the value of an environment variable,
 * {@code file:PATH} for the content of a file. Command lines are visible to all users of the
 * machine, so a URI with a password must not have to be part of them.
 *
 * <p>The place is always written out, also for {@code INTERLOCK_URI}: with a URI that may be left
 * out, a lock's name could be taken for a URI, and a forgotten variable could redirect {@code
 * release} to another store.
 */
final class UriArgument implements ITypeConverter<String> {
  static final String DESCRIPTION =
      "Where the locks are kept. env:NAME and file:PATH stand for a URI in an environment variable"
          + " or a file. 'interlock backends' lists the backends.";

  private static final String VARIABLE = "env:";
  private static final String FILE = "file:";

  @Override
  public String convert(String text) {
    if (text.startsWith(VARIABLE)) {
      String name = text.substring(VARIABLE.length());
      String value = System.getenv(name);
      if (value == null || value.isBlank()) {
        throw new TypeConversionException("there is no URI in the environment variable " + name);
      }
      return value.strip();
    }
    return text.startsWith(FILE) ? content(text.substring(FILE.length())) : text;
  }

  private static String content(String file) {
    try {
      String content = Files.readString(Path.of(file)).strip();
      if (content.isEmpty() || content.lines().count() > 1) {
        throw new TypeConversionException("the file " + file + " must hold one line, a URI");
      }
      return content;
    } catch (IOException | InvalidPathException e) {
      throw new TypeConversionException("the file " + file + " cannot be read: " + e);
    }
  }
}
