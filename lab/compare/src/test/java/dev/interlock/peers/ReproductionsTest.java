package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests that the programs print the lines on the page, apart from numbers. {@code
 * -Dinterlock.peers.only=TEXT} selects programs.
 */
@Tag("extended")
class ReproductionsTest {

  private static List<String> programs() {
    String only = System.getProperty("interlock.peers.only", "");
    return Finding.ALL.stream().map(Finding::program).filter(p -> p.contains(only)).toList();
  }

  @ParameterizedTest
  @MethodSource("programs")
  void theProgramPrintsWhatThePageShows(String program) throws Exception {
    StringWriter printed = new StringWriter();
    Reproductions.class
        .getDeclaredMethod(program, PrintWriter.class)
        .invoke(null, new PrintWriter(printed, true));
    Path file = KitOnPeersTest.RESULTS.resolve(program + ".txt");
    if (System.getProperty("interlock.docs.write") != null) {
      Files.createDirectories(file.getParent());
      Files.writeString(file, printed.toString(), UTF_8);
    }
    assertEquals(
        Files.readString(file, UTF_8).replaceAll("\\d+", "#"),
        printed.toString().replaceAll("\\d+", "#"));
  }
}
