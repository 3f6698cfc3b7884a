package dev.interlock.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class FailuresTest {

  @Test
  void aFailureIsOneLineWithoutSecrets() {
    assertEquals(
        "cannot open redis://***@h/0; refused",
        Failures.describe(
            new IllegalStateException("cannot open redis://me:s3c/r et@h/0\n  refused")));
  }
}
