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
 * Converts records to JSON and back. The keys are the names of the components. Null components are
 * omitted, durations are numbers of seconds, instants are in ISO 8601, and enum constants are
 * written as their names.
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

  /** {@return the JSON document, indented and ending with a line break} */
  public static String of(Object root) {
    return GSON.toJson(root) + "\n";
  }

  /**
   * {@return the records that a resource contains}
   *
   * @param type the record class; the resource is in its package
   * @param resource the file name of a JSON array of objects with exactly the fields of the record
   * @throws IllegalArgumentException if an object lacks a field or has an unknown one
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
          throw new IllegalArgumentException(
              resource + " has an object whose fields are not " + components + ": " + each);
        }
        records.add(GSON.fromJson(each, type));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return List.copyOf(records);
  }
}
