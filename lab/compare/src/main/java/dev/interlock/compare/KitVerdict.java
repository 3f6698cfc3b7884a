package dev.interlock.compare;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * What the compatibility kit has found out about a backend.
 *
 * @param backend the backend's name
 * @param verdict one word
 * @param summary how many rules passed, and what became of the others
 * @param started when
 */
record KitVerdict(String backend, String verdict, String summary, String started) {
  private static final String FILE = "report.json";

  KitVerdict {
    if (backend == null || verdict == null || summary == null || started == null) {
      throw new JsonParseException("a field is missing");
    }
  }

  /** Reads what the kit wrote. */
  static KitVerdict in(Path directory) {
    Path file = directory.resolve(FILE);
    try {
      return Optional.ofNullable(new Gson().fromJson(Files.readString(file), KitVerdict.class))
          .orElseThrow(() -> new JsonParseException("an empty file"));
    } catch (IOException e) {
      throw new IllegalArgumentException("no readable " + FILE + " in " + directory, e);
    } catch (RuntimeException e) { // what the constructor throws is wrapped
      throw new IllegalArgumentException(file + " is not a report of the kit", e);
    }
  }
}
