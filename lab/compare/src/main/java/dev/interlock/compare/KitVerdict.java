package dev.interlock.compare;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

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

  /** Reads what the kit wrote. */
  static KitVerdict in(Path directory) {
    try {
      JsonObject report =
          JsonParser.parseString(Files.readString(directory.resolve(FILE))).getAsJsonObject();
      return new KitVerdict(
          text(report, "backend"),
          text(report, "verdict"),
          text(report, "summary"),
          text(report, "started"));
    } catch (IOException e) {
      throw new IllegalArgumentException("no readable " + FILE + " in " + directory, e);
    } catch (JsonParseException | IllegalStateException e) {
      throw new IllegalArgumentException(
          directory.resolve(FILE) + " is not a report of the kit", e);
    }
  }

  private static String text(JsonObject report, String field) {
    JsonElement value = report.get(field);
    if (value == null) {
      throw new IllegalStateException("no " + field);
    }
    return value.getAsString();
  }
}
