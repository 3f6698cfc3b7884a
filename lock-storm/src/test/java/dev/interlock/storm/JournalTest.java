package dev.interlock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.interlock.tck.history.Event;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JournalTest {
  @TempDir private Path folder;

  private static final List<Record> ALL =
      List.of(
          new Event.Granted("c/1", "a", 64, "c worker", 1, 2, 3),
          new Event.Extended("c/1", 3, 5),
          new Event.Ended("c/1", 4),
          new Entry.LossReported("c/1", 5, "EXPIRED"),
          new Entry.LossNotReported("c/1", 6),
          new Entry.Released("c/1", "UNKNOWN"),
          new Entry.Renewed("c/1"),
          new Entry.Abandoned("c/1"),
          new Entry.NoLease(Entry.Why.CANCELLED, "a", 7, 8),
          new Entry.EffectiveTtl(9),
          new Entry.Size(10, 11),
          new Entry.Broken("WAIT-05", "one\n\ttwo"));

  @Test
  void whatIsRecordedIsRead() throws Exception {
    Path file = folder.resolve("journal");
    try (Journal journal = Journal.create(file)) {
      ALL.forEach(journal::record);
    }
    assertEquals(ALL, Journal.read(file));
  }

  @Test
  void aLineThatWasBeingWrittenWhenItsProcessDiedIsLeftOut() throws Exception {
    Path file = folder.resolve("journal");
    try (Journal journal = Journal.create(file)) {
      journal.record(ALL.get(0));
    }
    Files.writeString(file, "reported\tc/1\t4", StandardOpenOption.APPEND);
    assertEquals(ALL.subList(0, 1), Journal.read(file));
  }

  @Test
  void aProcessThatDiedBeforeItBeganHasRecordedNothing() throws Exception {
    assertEquals(List.of(), Journal.read(folder.resolve("none")));
  }

  @Test
  void aLineOfAnotherFormIsRefused() throws Exception {
    for (String line : List.of("Reported {}", "Released", "Released {lease:")) {
      Path file = Files.writeString(folder.resolve("journal"), line + "\n");
      assertThrows(IllegalArgumentException.class, () -> Journal.read(file), line);
    }
  }
}
