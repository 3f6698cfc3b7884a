package dev.interlock.redlock;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.WakeUp;
import java.util.ArrayList;
import java.util.List;

/**
 * Listens to releases on all nodes. Each node sends a message of its own for a release, and each
 * message wakes the waiter: one that polls too early is woken by the next message.
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
