package dev.interlock.tck;

/** The reference backend keeps the contract. */
class MemoryTest extends LockTck {
  @Override
  protected Harness harness() {
    return Harness.at("memory:tck");
  }
}
