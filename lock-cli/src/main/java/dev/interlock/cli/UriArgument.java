package dev.interlock.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Reads a lock URI, or the place that it is in: {@code env:NAME} stands for the value of an
 * environment variable, {@code file:PATH} for the content of a file. Command lines are visible to
 * all users of the machine, so a password must not have to be in one.
 *
 * <p>There is no default, such as {@code INTERLOCK_URI}. If the URI could be left out, a lock's
 * name might be taken for a URI, and a forgotten variable might direct {@code release} to another
 * store.
 */
final class UriArgument implements ITypeConverter<String> {
  static final String DESCRIPTION =
      "The store that keeps the locks. env:NAME and file:PATH stand for a URI in an environment"
          + " variable or a file. 'interlock backends' lists the backends.";

  private static final String VARIABLE = "env:";
  private static final String FILE = "file:";

  @Override
  public String convert(String text) {
    if (text.startsWith(VARIABLE)) {
      String name = text.substring(VARIABLE.length());
      String value = System.getenv(name);
      if (value == null || value.isBlank()) {
        throw new TypeConversionException("no URI in the environment variable " + name);
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
