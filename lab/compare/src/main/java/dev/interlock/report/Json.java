package dev.interlock.report;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonPrimitive;
import com.google.gson.JsonSerializer;
import java.time.Duration;
import java.time.Instant;

/**
 * Records as JSON. The components' names are the keys; what is null is left out; a duration is a
 * number of seconds, an instant is in ISO 8601, an enum constant is its name.
 */
public final class Json {
  private static final Gson GSON =
      new GsonBuilder()
          .setPrettyPrinting()
          .disableHtmlEscaping()
          .registerTypeAdapter(
              Duration.class,
              (JsonSerializer<Duration>)
                  (duration, type, context) -> new JsonPrimitive(duration.toNanos() / 1e9))
          .registerTypeAdapter(
              Instant.class,
              (JsonSerializer<Instant>)
                  (instant, type, context) -> new JsonPrimitive(instant.toString()))
          .create();

  private Json() {}

  /** {@return the document, indented, with a line break at its end} */
  public static String of(Object root) {
    return GSON.toJson(root) + "\n";
  }
}
