package dev.interlock.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * What a command and its children have written so far, line by line, and a way to wait for more.
 */
final class Output {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final List<String> lines = new ArrayList<>();

  /** The streams that have not ended. */
  private int open;

  /** Adds the lines of a stream, until it ends. */
  void read(InputStream stream, String name) {
    opened();
    Thread reader =
        new Thread(
            () -> {
              try (BufferedReader text =
                  new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                for (String line = text.readLine(); line != null; line = text.readLine()) {
                  add(line);
                }
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              } finally {
                closed();
              }
            },
            name);
    reader.setDaemon(true);
    reader.start();
  }

  /** Adds the lines that are written, until the writer is closed. */
  Writer writer() {
    opened();
    return new Writer() {
      private final StringBuilder line = new StringBuilder();

      @Override
      public void write(char[] text, int offset, int length) {
        synchronized (lock) {
          for (int i = offset; i < offset + length; i++) {
            if (text[i] == '\n') {
              add(line.toString());
              line.setLength(0);
            } else {
              line.append(text[i]);
            }
          }
        }
      }

      @Override
      public void flush() {}

      @Override
      public void close() {
        synchronized (lock) {
          if (line.length() > 0) {
            add(line.toString());
          }
        }
        closed();
      }
    };
  }

  private synchronized void opened() {
    open++;
  }

  private synchronized void closed() {
    open--;
    notifyAll();
  }

  private synchronized void add(String line) {
    lines.add(line);
    notifyAll();
  }

  /** Waits for a line that contains the text, and returns it. */
  synchronized String await(String text) throws InterruptedException {
    long start = System.nanoTime();
    while (true) {
      for (String line : lines) {
        if (line.contains(text)) {
          return line;
        }
      }
      if (!waitForMore(start)) {
        throw new AssertionError(
            "no line with \"" + text + "\"" + (open == 0 ? "" : " in time") + " in: " + lines);
      }
    }
  }

  /** All lines until the end of the last stream. */
  synchronized String all() throws InterruptedException {
    long start = System.nanoTime();
    while (waitForMore(start)) {
      // until nothing is open
    }
    if (open > 0) {
      throw new AssertionError("the output has not ended; so far: " + lines);
    }
    return String.join("\n", lines);
  }

  /** Waits for a change; returns false without one if there will be none, or none in time. */
  private synchronized boolean waitForMore(long start) throws InterruptedException {
    long left = LIMIT.toNanos() - (System.nanoTime() - start);
    if (open == 0 || left <= 0) {
      return false;
    }
    TimeUnit.NANOSECONDS.timedWait(this, left);
    return true;
  }

  synchronized List<String> soFar() {
    return List.copyOf(lines);
  }
}
