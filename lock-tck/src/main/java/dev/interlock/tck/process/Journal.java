package dev.interlock.tck.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A file of records that one process writes and another reads. Each line is the name of a record's
 * type and its components as JSON. When {@link #record} returns, the operating system has the
 * record, so a killed process loses at most the record that it was writing.
 *
 * <p>All methods may be called from any thread.
 */
public final class Journal implements Closeable {
  private static final Gson GSON = new GsonBuilder().serializeNulls().create();

  private final OutputStream out;
  private final ReentrantLock lock = new ReentrantLock();

  private Journal(OutputStream out) {
    this.out = out;
  }

  /**
   * Creates a journal.
   *
   * @param file its file; replaced if it exists
   * @return the journal
   * @throws IOException if the file cannot be written
   */
  public static Journal create(Path file) throws IOException {
    return new Journal(Files.newOutputStream(file));
  }

  /**
   * Appends a record.
   *
   * @param entry a Java record
   * @throws UncheckedIOException if it cannot be written
   */
  public void record(Object entry) {
    String line = encode(entry) + "\n";
    lock.lock();
    try {
      out.write(line.getBytes(UTF_8)); // unbuffered: a single write of the operating system
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write to the journal: " + entry, e);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Reads the records that a process has written so far. Omits an unterminated last line, which the
   * process was writing when it died.
   *
   * @param file the journal
   * @param kinds sealed interfaces, one of which each record implements
   * @param <R> the common type of the records
   * @return the records in the order in which they were recorded; empty if there is no file
   * @throws IOException if the file cannot be read
   * @throws IllegalArgumentException if a terminated line is not such a record
   */
  public static <R> List<R> read(Path file, List<Class<? extends R>> kinds) throws IOException {
    List<R> entries = new ArrayList<>();
    if (Files.exists(file)) {
      String text = Files.readString(file, UTF_8);
      for (String line : text.substring(0, text.lastIndexOf('\n') + 1).lines().toList()) {
        entries.add(decode(line, kinds));
      }
    }
    return entries;
  }

  private static String encode(Object entry) {
    return entry.getClass().getSimpleName() + " " + GSON.toJson(entry);
  }

  private static <R> R decode(String line, List<Class<? extends R>> kinds) {
    String[] parts = line.split(" ", 2);
    try {
      for (Class<? extends R> kind : kinds) {
        for (Class<?> type : kind.getPermittedSubclasses()) {
          if (parts.length == 2 && type.getSimpleName().equals(parts[0])) {
            R entry = kind.cast(GSON.fromJson(parts[1], type));
            // Gson would read a missing component as null or zero.
            if (encode(entry).equals(line)) {
              return entry;
            }
          }
        }
      }
    } catch (JsonParseException e) {
      throw new IllegalArgumentException(
          "this line of a journal is not a record: \"" + line + "\"", e);
    }
    throw new IllegalArgumentException("this line of a journal is not a record: \"" + line + "\"");
  }

  @Override
  public void close() throws IOException {
    out.close();
  }
}
