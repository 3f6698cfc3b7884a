package dev.interlock.verify;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What a {@link Worker} reports, as one line of its standard output.
 *
 * @param kind what the fields are about
 */
record Message(Kind kind, List<String> fields) {

  enum Kind {
    /** There is a suite of this name. */
    SUITE,
    /** A test has ended; the fields of a {@link TestResult}. */
    RESULT,
    /** The suite has ended. */
    END
  }

  /** Distinguishes messages from the output of a child process, which may begin the line. */
  private static final String PREFIX = "\u0001interlock-verify\t";

  String line() {
    return PREFIX
        + Stream.concat(Stream.of(kind.name()), fields.stream().map(Message::escape))
            .collect(Collectors.joining("\t"));
  }

  /** Returns the message in a line, if there is one. */
  static Optional<Message> in(String line) {
    int start = line.indexOf(PREFIX);
    if (start < 0) {
      return Optional.empty();
    }
    List<String> parts =
        new ArrayList<>(List.of(line.substring(start + PREFIX.length()).split("\t", -1)));
    Kind kind = Kind.valueOf(parts.remove(0));
    return Optional.of(new Message(kind, parts.stream().map(String::translateEscapes).toList()));
  }

  private static String escape(String text) {
    return text.replace("\\", "\\\\")
        .replace("\t", "\\t")
        .replace("\n", "\\n")
        .replace("\r", "\\r");
  }
}
