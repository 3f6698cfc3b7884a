package dev.interlock.tck.history;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A file of {@link Event}s, one per line, written by one process and read by another. Every event
 * has left the process when {@link #record} returns, so a killed process loses at most the event
 * that it was writing.
 *
 * <p>May be used from any thread.
 */
public final class EventLog implements Closeable {
  static final Gson GSON = new GsonBuilder().disableHtmlEscaping().serializeNulls().create();

  private final OutputStream out;
  private final ReentrantLock lock = new ReentrantLock();

  private EventLog(OutputStream out) {
    this.out = out;
  }

  /**
   * Creates a log.
   *
   * @param file its file; replaced if it exists
   * @return the log
   * @throws IOException if the file cannot be written
   */
  public static EventLog create(Path file) throws IOException {
    return new EventLog(Files.newOutputStream(file));
  }

  /**
   * Appends an event.
   *
   * @param event the event
   * @throws UncheckedIOException if it cannot be written
   */
  public void record(Event event) {
    append(event.encode());
  }

  /**
   * Appends a line that is not an event, for logs of other kinds.
   *
   * @param line the line, without its terminator
   * @throws UncheckedIOException if it cannot be written
   */
  public void append(String line) {
    byte[] bytes = (line + "\n").getBytes(UTF_8);
    lock.lock();
    try {
      out.write(bytes); // unbuffered: one write call of the operating system
    } catch (IOException e) {
      throw new UncheckedIOException("cannot record " + line, e);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Reads what a process has recorded so far. Omits a last line without terminator, which was being
   * written when its process died.
   *
   * @param file the log
   * @return the events in the order in which they were recorded
   * @throws IOException if the file cannot be read
   * @throws IllegalArgumentException if a whole line is not an event
   */
  public static List<Event> read(Path file) throws IOException {
    return lines(file).stream().map(Event::decode).toList();
  }

  /**
   * Reads the lines that were recorded so far, except a last one without terminator.
   *
   * @param file the log
   * @return the lines in the order in which they were recorded
   * @throws IOException if the file cannot be read
   */
  public static List<String> lines(Path file) throws IOException {
    String text = Files.readString(file, UTF_8);
    return text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
  }

  @Override
  public void close() throws IOException {
    out.close();
  }
}
