package dev.interlock.custom;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import org.junit.jupiter.api.Tag;

/** The plain backend is right: what is refused below has its fault, and nothing else. */
@Tag("extended")
class CustomLockTest extends LockTck {

  @Override
  protected Harness harness() {
    return new CustomHarness("/plain/");
  }
}
