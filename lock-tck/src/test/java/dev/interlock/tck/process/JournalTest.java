package dev.interlock.tck.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.history.Event;
import dev.interlock.tck.history.Event.Ended;
import dev.interlock.tck.history.Event.Extended;
import dev.interlock.tck.history.Event.Granted;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class JournalTest {
  private static final List<Event> EVENTS =
      List.of(
          new Granted("p/1", "a", 64, "p c t", -3, 5, 1_000),
          new Granted(
              "p/2",
              "tab\t line\n\r back\\slash \\u0041 \u0000 \u2028 \ud83d\udd12 é",
              1,
              "",
              0,
              0,
              0),
          new Extended("p/1", 6, Long.MAX_VALUE),
          new Ended("p/1", Long.MIN_VALUE));

  @TempDir Path folder;

  @Test
  void whatWasRecordedIsReadBackUnchanged() throws Exception {
    Path file = folder.resolve("log");
    try (Journal journal = Journal.create(file)) {
      EVENTS.forEach(journal::record);
    }
    assertEquals(EVENTS, Journal.read(file, List.of(Event.class)));
    assertEquals(EVENTS.size(), Files.readAllLines(file).size());
  }

  @Test
  void aLineCutOffByAKillIsLeftOut() throws Exception {
    Path file = folder.resolve("log");
    try (Journal journal = Journal.create(file)) {
      EVENTS.forEach(journal::record);
      Files.writeString(file, "Ended {lease", StandardOpenOption.APPEND);
    }
    assertEquals(EVENTS, Journal.read(file, List.of(Event.class)));
  }

  @Test
  void aProcessThatDiedBeforeItBeganHasRecordedNothing() throws Exception {
    assertEquals(List.of(), Journal.read(folder.resolve("none"), List.of(Event.class)));
  }

  @Test
  void aWholeLineThatIsNoEventIsRefused() throws Exception {
    for (String line :
        List.of(
            "", "Ended", "Begun {}", "Ended {lease:", "Ended {\"at\":\"x\"}", "Ended {\"at\":1}")) {
      Path file = Files.writeString(folder.resolve("log"), line + "\n");
      IllegalArgumentException e =
          assertThrows(
              IllegalArgumentException.class, () -> Journal.read(file, List.of(Event.class)));
      assertTrue(e.getMessage().contains("\"" + line + "\""), e::getMessage);
    }
  }

  /** Answers every line with the current time. */
  static final class Clock {
    public static void main(String[] args) throws Exception {
      BufferedReader in =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      while (in.readLine() != null) {
        System.out.println(System.nanoTime());
      }
    }
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void twoVirtualMachinesShareOneMonotonicClock() throws Exception {
    Process child =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Clock.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader answers = child.inputReader();
        OutputStream questions = child.getOutputStream()) {
      for (int i = 0; i < 1_000; i++) {
        long before = System.nanoTime();
        questions.write('\n');
        questions.flush();
        long there = Long.parseLong(answers.readLine());
        long after = System.nanoTime();
        assertTrue(before <= there && there <= after, before + " <= " + there + " <= " + after);
      }
    } finally {
      child.destroyForcibly();
    }
    assertTrue(child.waitFor(30, TimeUnit.SECONDS));
  }
}
