package dev.interlock.spi;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A parameter in the query of lock URIs, such as {@code ttl} in {@code redis://host?ttl=10s}.
 * Declare it once as a constant, list it in {@link LockProvider#parameters}, and read it with
 * {@link LockUri#get}. Messages, {@code interlock backends} and the reference page of parameters
 * are based on the declaration. Immutable.
 *
 * <pre>{@code
 * static final UriParameter<Duration> CONNECT_TIMEOUT =
 *     UriParameter.duration("connectTimeout", "2s", "How long connecting may take.");
 *
 * Duration timeout = uri.get(CONNECT_TIMEOUT).orElse(Duration.ofSeconds(2));
 * }</pre>
 *
 * @param <T> the type of the value
 */
public final class UriParameter<T> {

  private static final String FILE = "File";
  private static final String VARIABLE = "Env";

  /** Converts the text that a URI gives under one of the names. */
  private interface Reader<T> {
    T read(String name, String text, Map<String, FileBacked<String>> secretFiles);
  }

  private final List<String> names;
  private final String form;
  private final @Nullable String defaultValue;
  private final String meaning;
  private final Reader<T> reader;

  private UriParameter(
      List<String> names,
      String form,
      @Nullable String defaultValue,
      String meaning,
      Reader<T> reader) {
    this.names = List.copyOf(names);
    this.form = form;
    this.defaultValue = defaultValue;
    this.meaning = meaning;
    this.reader = reader;
  }

  /**
   * Declares a parameter of any type.
   *
   * @param <T> the type of the value
   * @param name the parameter's name; one that contains {@code password} or the like is hidden by
   *     {@link LockUri#redact}
   * @param form the form of values, as a text for people, such as {@code creator or anyone}
   * @param defaultValue the default, as a text for people; null for none
   * @param meaning the meaning, as a sentence
   * @param parser converts the text into the value; throws {@link IllegalArgumentException} with a
   *     message that says how to write it
   * @return the parameter
   */
  public static <T> UriParameter<T> of(
      String name,
      String form,
      @Nullable String defaultValue,
      String meaning,
      Function<String, T> parser) {
    return new UriParameter<>(
        List.of(name), form, defaultValue, meaning, (given, text, files) -> parser.apply(text));
  }

  /**
   * Declares a parameter whose values are any text.
   *
   * @param name the parameter's name
   * @param defaultValue the default, as a text for people; null for none
   * @param meaning the meaning, as a sentence
   * @return the parameter
   */
  public static UriParameter<String> text(
      String name, @Nullable String defaultValue, String meaning) {
    return of(name, "text", defaultValue, meaning, text -> text);
  }

  /**
   * Declares a parameter whose values are durations of at least 1 ms; see {@link DurationSyntax}.
   *
   * @param name the parameter's name
   * @param defaultValue the default, as a text for people; null for none
   * @param meaning the meaning, as a sentence
   * @return the parameter
   */
  public static UriParameter<Duration> duration(
      String name, @Nullable String defaultValue, String meaning) {
    return of(
        name,
        "duration",
        defaultValue,
        meaning,
        text -> {
          Duration duration = DurationSyntax.parse(text);
          if (duration.compareTo(Duration.ofMillis(1)) < 0) {
            throw new IllegalArgumentException("must be at least 1ms, not \"" + text + "\"");
          }
          return duration;
        });
  }

  /**
   * Declares a parameter whose values are whole numbers.
   *
   * @param name the parameter's name
   * @param min the minimum value
   * @param max the maximum value
   * @param defaultValue the default, as a text for people; null for none
   * @param meaning the meaning, as a sentence
   * @return the parameter
   */
  public static UriParameter<Integer> integer(
      String name, int min, int max, @Nullable String defaultValue, String meaning) {
    return of(
        name,
        "number from " + min + " to " + max,
        defaultValue,
        meaning,
        text -> {
          long value = text.matches("-?\\d{1,10}") ? Long.parseLong(text) : Long.MIN_VALUE;
          if (value < min || value > max) {
            throw new IllegalArgumentException(
                String.format("must be a whole number from %s to %s, not \"%s\"", min, max, text));
          }
          return (int) value;
        });
  }

  /**
   * Declares a parameter whose values are {@code true} and {@code false}.
   *
   * @param name the parameter's name
   * @param defaultValue the default
   * @param meaning the meaning, as a sentence
   * @return the parameter
   */
  public static UriParameter<Boolean> flag(String name, boolean defaultValue, String meaning) {
    return of(
        name,
        "true or false",
        Boolean.toString(defaultValue),
        meaning,
        text ->
            switch (text) {
              case "true" -> true;
              case "false" -> false;
              default ->
                  throw new IllegalArgumentException("must be true or false, not \"" + text + "\"");
            });
  }

  /**
   * Declares a parameter whose values are the names of readable files.
   *
   * @param name the parameter's name
   * @param defaultValue the default, as a text for people; null for none
   * @param meaning the meaning, as a sentence
   * @return the parameter
   */
  public static UriParameter<Path> file(
      String name, @Nullable String defaultValue, String meaning) {
    return of(name, "file", defaultValue, meaning, UriParameter::readable);
  }

  /**
   * Declares a parameter whose value is a secret. In place of the secret itself ({@code NAME}) a
   * URI may give a file that contains it ({@code NAMEFile}) or an environment variable ({@code
   * NAMEEnv}), so that URIs and command lines need not contain secrets. Line breaks at the end of
   * the file are dropped, and the rest must not be empty. The file may be replaced while it is in
   * use; see {@link LockUri#get}.
   *
   * @param name the parameter's name
   * @param meaning the meaning, as a sentence
   * @return the parameter
   */
  public static UriParameter<String> secret(String name, String meaning) {
    return secret(List.of(name, name + FILE, name + VARIABLE), meaning);
  }

  /** Declares a secret that another part of the URI gives, unless a file or a variable does. */
  static UriParameter<String> secretElsewhere(String name, String meaning) {
    return secret(List.of(name + FILE, name + VARIABLE), meaning);
  }

  private static UriParameter<String> secret(List<String> names, String meaning) {
    return new UriParameter<>(names, "secret", null, meaning, UriParameter::secretOf);
  }

  private static String secretOf(
      String name, String text, Map<String, FileBacked<String>> secretFiles) {
    if (name.endsWith(FILE)) {
      return secretFiles.computeIfAbsent(text, UriParameter::secretFile).get();
    }
    if (name.endsWith(VARIABLE)) {
      String value = System.getenv(text);
      if (value == null) {
        throw new IllegalArgumentException("there is no environment variable \"" + text + "\"");
      }
      return value;
    }
    return text;
  }

  private static FileBacked<String> secretFile(String path) {
    try {
      return new FileBacked<>(List.of(readable(path)), UriParameter::secretIn);
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalArgumentException("the file \"" + path + "\" cannot be used: " + e, e);
    }
  }

  private static String secretIn(List<byte[]> contents) throws IOException {
    String text = UTF_8.newDecoder().decode(ByteBuffer.wrap(contents.get(0))).toString();
    String secret = text.replaceFirst("\\R+\\z", "");
    if (secret.isEmpty()) {
      throw new IOException("the file is empty");
    }
    return secret;
  }

  private static Path readable(String text) {
    try {
      Path file = Path.of(text);
      if (Files.isReadable(file) && !Files.isDirectory(file)) {
        return file;
      }
    } catch (InvalidPathException e) {
      // There can be no such file.
    }
    throw new IllegalArgumentException("must be a readable file; \"" + text + "\" is not");
  }

  /** {@return the names under which the parameter may be given, at least one} */
  public List<String> names() {
    return names;
  }

  /** {@return the form of values, as a text for people} */
  public String form() {
    return form;
  }

  /** {@return the default, as a text for people; null for none} */
  public @Nullable String defaultValue() {
    return defaultValue;
  }

  /** {@return the meaning of the parameter, as a sentence} */
  public String meaning() {
    return meaning;
  }

  /**
   * Converts the text of a URI into a value.
   *
   * @param secretFiles the secret files that were read before, by their names
   * @throws IllegalArgumentException if the text is not a value of the parameter
   */
  T read(String name, String text, Map<String, FileBacked<String>> secretFiles) {
    return reader.read(name, text, secretFiles);
  }

  @Override
  public String toString() {
    return String.join(" or ", names);
  }
}
