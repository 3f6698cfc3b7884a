package dev.interlock.tck.process;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.util.Date;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class WrongSystemClockTest {

  /** Prints the time of day in seconds, read in every way. */
  static final class ReadClocks {
    private ReadClocks() {}

    @SuppressWarnings({"JavaUtilDate", "JavaTimeDefaultTimeZone"}) // backends may use them
    public static void main(String[] arguments) {
      LongSupplier reference = System::currentTimeMillis;
      for (long millis :
          List.of(
              System.currentTimeMillis(),
              reference.getAsLong(),
              new Date().getTime(),
              Instant.now().toEpochMilli(),
              ZonedDateTime.now().toInstant().toEpochMilli(),
              Clock.systemUTC().millis())) {
        System.out.println(millis);
      }
    }
  }

  static Set<Path> jdks() throws IOException {
    return Set.copyOf(List.of(Jdks.own(), Jdks.other()));
  }

  @ParameterizedTest
  @MethodSource("jdks")
  void everyReadingOfTheClockIsShifted(Path jdk) throws Exception {
    for (Duration ahead : List.of(Duration.ofHours(2), Duration.ofHours(-2))) {
      Process process =
          new ProcessBuilder(
                  jdk.resolve("bin/java").toString(),
                  WrongSystemClock.argument(ahead),
                  "-cp",
                  System.getProperty("java.class.path"),
                  ReadClocks.class.getName())
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      List<Long> times;
      try (Stream<String> lines = process.inputReader(US_ASCII).lines()) {
        times = lines.map(Long::valueOf).toList();
      }
      assertEquals(0, process.waitFor());
      assertEquals(6, times.size());
      for (long time : times) {
        long error = time - ahead.toMillis() - System.currentTimeMillis();
        assertTrue(Math.abs(error) < 600_000, () -> times + " is not " + ahead + " ahead");
      }
    }
  }
}
