package dev.interlock.shedlock;

class ShedLockOnMemoryTest extends ShedLockTests {

  @Override
  String uri() {
    return "memory:shedlock";
  }
}
