package dev.interlock.report;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.gson.JsonSerializer;
import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

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

  /**
   * {@return the records of a resource}
   *
   * @param type the records' class, beside which the resource is
   * @param resource the file name of an array of objects, each with a field for every component
   * @throws IllegalArgumentException if an object has other fields, or lacks one
   */
  public static <T extends Record> List<T> read(Class<T> type, String resource) {
    Set<String> components =
        Arrays.stream(type.getRecordComponents())
            .map(RecordComponent::getName)
            .collect(Collectors.toSet());
    List<T> records = new ArrayList<>();
    try (Reader text = Template.open(type, resource)) {
      for (JsonElement each : JsonParser.parseReader(text).getAsJsonArray()) {
        if (!each.getAsJsonObject().keySet().equals(components)) {
          throw new IllegalArgumentException(resource + " needs " + components + ": " + each);
        }
        records.add(GSON.fromJson(each, type));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return List.copyOf(records);
  }
}
