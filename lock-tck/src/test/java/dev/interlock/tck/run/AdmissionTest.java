package dev.interlock.tck.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.Harness;
import org.junit.jupiter.api.Test;

class AdmissionTest {
  @Test
  void theStoresConnectionsLimitTheTests() {
    assertEquals(16, new Admission(100).maxTests(1));
    assertEquals(6, new Admission(Admission.MIN_CONNECTIONS).maxTests(1));
  }

  @Test
  void aSlowMachineRunsFewerTestsButAlwaysOne() {
    Admission admission = new Admission(100);
    assertEquals(16, admission.maxTests(3));
    assertEquals(8, admission.maxTests(6));
    assertEquals(1, admission.maxTests(1_000));
  }

  @Test
  void aWrongNumberOfConnectionsIsRefused() {
    Harness harness = Harness.at("memory:x", 59);
    String message =
        String.valueOf(
            assertThrows(IllegalArgumentException.class, () -> Kit.start(harness)).getMessage());
    assertTrue(message.contains("59") && message.contains("at least 60"), message);
  }
}
