package dev.interlock.custom;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import org.junit.jupiter.api.Tag;

/** The plain backend is correct, so the specimens made from it have only their own fault. */
@Tag("extended")
class CustomLockTest extends LockTck {

  @Override
  protected Harness harness() {
    return new CustomHarness("/plain/");
  }
}
