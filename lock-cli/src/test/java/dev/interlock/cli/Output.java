package dev.interlock.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** What a process has written so far, line by line, and a way to wait for more. */
final class Output {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final List<String> lines = new ArrayList<>();
  private final Thread reader;
  private boolean ended;

  Output(InputStream stream, String name) {
    reader = new Thread(() -> read(stream), name);
    reader.setDaemon(true);
    reader.start();
  }

  private void read(InputStream stream) {
    try (BufferedReader text =
        new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
      for (String line = text.readLine(); line != null; line = text.readLine()) {
        synchronized (this) {
          lines.add(line);
          notifyAll();
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      synchronized (this) {
        ended = true;
        notifyAll();
      }
    }
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
      long left = LIMIT.toNanos() - (System.nanoTime() - start);
      if (ended || left <= 0) {
        throw new AssertionError(
            "no line with \"" + text + "\"" + (ended ? "" : " in time") + " in: " + lines);
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
  }

  /** All lines until the end of the stream. */
  String all() throws InterruptedException {
    reader.join(LIMIT.toMillis());
    synchronized (this) {
      if (!ended) {
        throw new AssertionError("the stream has not ended; so far: " + lines);
      }
      return String.join("\n", lines);
    }
  }

  synchronized List<String> soFar() {
    return List.copyOf(lines);
  }
}
