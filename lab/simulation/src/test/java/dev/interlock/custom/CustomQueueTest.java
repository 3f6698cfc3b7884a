package dev.interlock.custom;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import org.junit.jupiter.api.Tag;

/** The backend with a queue is right: what is refused below has its fault, and nothing else. */
@Tag("extended")
class CustomQueueTest extends LockTck {

  @Override
  protected Harness harness() {
    return new CustomHarness("/queue/");
  }
}
