package dev.interlock.compare;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The verdict of the compatibility kit on a backend.
 *
 * @param backend the backend's name
 * @param verdict one word
 * @param summary the numbers of rules by outcome
 * @param started the time of the run
 */
record KitVerdict(String backend, String verdict, String summary, String started) {
  private static final String FILE = "report.json";

  KitVerdict {
    if (backend == null || verdict == null || summary == null || started == null) {
      throw new JsonParseException(
          "the report lacks the backend, the verdict, the summary or the time");
    }
  }

  /** Reads the report of the kit from a directory. */
  static KitVerdict read(Path directory) {
    Path file = directory.resolve(FILE);
    try {
      return Optional.ofNullable(new Gson().fromJson(Files.readString(file), KitVerdict.class))
          .orElseThrow(() -> new JsonParseException("the file is empty"));
    } catch (IOException e) {
      throw new IllegalArgumentException("cannot read " + FILE + " in " + directory, e);
    } catch (RuntimeException e) { // Gson wraps exceptions of the constructor
      throw new IllegalArgumentException(file + " is not a report of the kit", e);
    }
  }
}
