package dev.interlock.redlock;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.WakeUp;
import java.util.ArrayList;
import java.util.List;

/**
 * Listens to releases on all nodes. Each node publishes a release, and each message wakes the
 * waiter. A waiter that polls too early after one message is woken again by the next.
 */
final class ReleaseWatch implements Watch {

  private final List<Watch> watches = new ArrayList<>();

  ReleaseWatch(Cluster cluster, LockKeys keys, WakeUp wakeUp) {
    for (int node = 0; node < cluster.size(); node++) {
      watches.add(cluster.subscriber(node).watch(keys, wakeUp));
    }
  }

  @Override
  public void close() {
    watches.forEach(Watch::close);
  }
}
