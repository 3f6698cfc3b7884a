package dev.interlock.storm;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.history.EventLog;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A file of {@link Event}s and {@link Entry entries}, one per line: the name of the record, and its
 * components as JSON. It is written as an {@link EventLog} is. Thread-safe.
 */
final class Journal implements Closeable {
  private static final Gson GSON = new Gson();

  private static final Map<String, Class<?>> KINDS =
      Stream.of(Event.class, Entry.class)
          .flatMap(type -> Stream.of(type.getPermittedSubclasses()))
          .collect(Collectors.toMap(Class::getSimpleName, Function.identity()));

  private final EventLog log;

  private Journal(EventLog log) {
    this.log = log;
  }

  static Journal create(Path file) throws IOException {
    return new Journal(EventLog.create(file));
  }

  void record(Record entry) {
    log.append(entry.getClass().getSimpleName() + " " + GSON.toJson(entry));
  }

  /**
   * Reads what was recorded so far; nothing if the file was not yet begun.
   *
   * @throws IllegalArgumentException if a whole line is not what {@link #record} writes
   */
  static List<Record> read(Path file) throws IOException {
    List<Record> entries = new ArrayList<>();
    if (Files.exists(file)) {
      for (String line : EventLog.lines(file)) {
        entries.add(decode(line));
      }
    }
    return entries;
  }

  private static Record decode(String line) {
    int space = line.indexOf(' ');
    Class<?> kind = space < 0 ? null : KINDS.get(line.substring(0, space));
    try {
      if (kind != null) {
        return (Record) GSON.fromJson(line.substring(space), kind);
      }
    } catch (JsonParseException e) {
      throw new IllegalArgumentException("not an entry: " + line, e);
    }
    throw new IllegalArgumentException("not an entry: " + line);
  }

  @Override
  public void close() throws IOException {
    log.close();
  }
}
