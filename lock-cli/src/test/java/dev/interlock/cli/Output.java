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

/** The lines that a command and its children have written so far. Tests can wait for more. */
final class Output {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final List<String> lines = new ArrayList<>();

  /** The number of streams that have not ended. */
  private int openStreams;

  /** Adds the lines of a stream, until it ends. */
  void read(InputStream stream, String name) {
    addStream();
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
                endStream();
              }
            },
            name);
    reader.setDaemon(true);
    reader.start();
  }

  /** Adds the lines that are written, until the writer is closed. */
  Writer writer() {
    addStream();
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
        endStream();
      }
    };
  }

  private synchronized void addStream() {
    openStreams++;
  }

  private synchronized void endStream() {
    openStreams--;
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
            "no line with \""
                + text
                + "\""
                + (openStreams == 0 ? "" : " in time")
                + " in: "
                + lines);
      }
    }
  }

  /** Waits until all streams have ended, and returns all lines. */
  synchronized String all() throws InterruptedException {
    long start = System.nanoTime();
    while (waitForMore(start)) {
      // wait on
    }
    if (openStreams > 0) {
      throw new AssertionError("the output has not ended; so far: " + lines);
    }
    return String.join("\n", lines);
  }

  /** Waits for a change; returns false if all streams have ended, or nothing changed in time. */
  private synchronized boolean waitForMore(long start) throws InterruptedException {
    long remaining = TIMEOUT.toNanos() - (System.nanoTime() - start);
    if (openStreams == 0 || remaining <= 0) {
      return false;
    }
    TimeUnit.NANOSECONDS.timedWait(this, remaining);
    return true;
  }

  synchronized List<String> soFar() {
    return List.copyOf(lines);
  }
}
