package dev.interlock.peers;

import java.util.List;

/** The locks under test, in the order of the page. */
final class Peers {
  private Peers() {}

  static List<PeerHarness> all() {
    return List.of(
        new RedissonHarness.RLockHarness(),
        new RedissonHarness.RFencedLockHarness(),
        new RedissonHarness.RedLockHarness(),
        new SpringRedisHarness(),
        new SpringJdbcHarness(),
        new SpringInterlockHarness(),
        new ShedLockHarness.ShedLockJdbcHarness(),
        new ShedLockHarness.ShedLockInterlockHarness(),
        new CuratorHarness(),
        new JetcdHarness());
  }
}
