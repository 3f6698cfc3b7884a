package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.LockOptions;
import dev.interlock.tck.Harness;
import dev.interlock.tck.process.OtherProcess;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class ManyLeasesThatExpireTest {
  @Test
  void aJvmThatDoesNotTellItsObjectsSaysSo() throws Exception {
    String uri = "memory:expire";
    LockOptions options =
        LockOptions.builder().ttl(Duration.ofMillis(100)).autoRenew(false).build();
    // without the module that counts objects
    List<String> arguments = List.of("--limit-modules", "java.se");
    OtherProcess.Settings settings =
        new OtherProcess.Settings(Harness.at(uri), uri, options, arguments, false);
    try (OtherProcess other = OtherProcess.start(settings)) {
      String answer =
          other.call(Duration.ofMinutes(1), ManyLeasesThatExpire.class, "expire", "1000");
      assertEquals(ManyLeasesThatExpire.NOT_COUNTED, answer.split(" ", 2)[1]);
    }
  }
}
