package dev.interlock.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;

@ResourceLock(Resources.SYSTEM_PROPERTIES)
class TimingTest {
  private static final String SLACK = "interlock.tck.slack";

  private final String before = System.getProperty(SLACK, "");

  @AfterEach
  void restore() {
    if (before.isEmpty()) {
      System.clearProperty(SLACK);
    } else {
      System.setProperty(SLACK, before);
    }
  }

  @Test
  void theSlackIsTwoSecondsUnlessThePropertySaysOtherwise() {
    Harness harness = Harness.at("memory:");
    System.clearProperty(SLACK);
    assertEquals(Duration.ofSeconds(2), harness.slack());
    System.setProperty(SLACK, "15");
    assertEquals(Duration.ofSeconds(15), harness.slack());
  }

  @Test
  void noLastingLeaseLapsesBeforeATestGivesUp() {
    BackendInfo info;
    try (LockClient client = LockClient.open("memory:timing")) {
      info = client.backend();
    }
    Timing usual = Timing.of(info, Duration.ofSeconds(8));
    assertEquals(Duration.ofSeconds(60), usual.longTtl());
    assertEquals(Duration.ofSeconds(6), usual.renewedTtl());
    Timing patient = Timing.of(info, Duration.ofMinutes(2));
    assertTrue(patient.longTtl().compareTo(patient.bound().multipliedBy(2)) > 0);
  }

  @Test
  void aSlackThatIsNoNumberOfSecondsIsRefusedWithWhatWouldBeRight() {
    for (String wrong : new String[] {"", "0", "-1", "2s", "1.5", "99999"}) {
      System.setProperty(SLACK, wrong);
      String message =
          assertThrows(IllegalArgumentException.class, () -> Harness.at("memory:").slack())
              .getMessage();
      assertTrue(message.contains("whole number of seconds from 1 to 9999"), message);
    }
  }
}
