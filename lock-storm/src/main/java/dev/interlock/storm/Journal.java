package dev.interlock.storm;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
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
 * A file of {@link Entry entries}, one per line. Every entry has left the process when {@link
 * #record} returns, so that a process that is killed takes none with it but the one that it was
 * writing. May be used from any thread.
 */
final class Journal implements Closeable {
  private final OutputStream out;
  private final ReentrantLock lock = new ReentrantLock();

  private Journal(OutputStream out) {
    this.out = out;
  }

  static Journal create(Path file) throws IOException {
    return new Journal(Files.newOutputStream(file));
  }

  void record(Entry entry) {
    byte[] line = (entry.encode() + "\n").getBytes(UTF_8);
    lock.lock();
    try {
      out.write(line); // unbuffered: one write of the operating system's
    } catch (IOException e) {
      throw new UncheckedIOException("cannot record " + entry, e);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Reads what was recorded so far. A last line without an end was being written when its process
   * died, and is left out; so is a file that was not yet begun.
   */
  static List<Entry> read(Path file) throws IOException {
    List<Entry> entries = new ArrayList<>();
    if (!Files.exists(file)) {
      return entries;
    }
    StringBuilder line = new StringBuilder();
    try (BufferedReader in = Files.newBufferedReader(file, UTF_8)) {
      for (int c = in.read(); c >= 0; c = in.read()) {
        if (c == '\n') {
          entries.add(Entry.decode(line.toString()));
          line.setLength(0);
        } else {
          line.append((char) c);
        }
      }
    }
    return entries;
  }

  @Override
  public void close() throws IOException {
    out.close();
  }
}
