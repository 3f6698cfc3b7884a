package sample;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;

class MemoryTest extends LockTck {
  @Override
  protected Harness harness() {
    return Harness.at("memory:sample");
  }
}
