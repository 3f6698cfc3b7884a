package dev.interlock.redlock;

import dev.interlock.LockConfigurationException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redlock.Cluster.Place;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Deadline;
import java.util.List;

/** Opens a backend. Refuses nodes and settings that cannot work, and gives the reason. */
final class Opening {

  private static final int MIN_NODES = 3;

  private Opening() {}

  static RedlockBackend backend(
      List<Place> places, RedlockSettings settings, BackendContext context) {
    requireSensible(places, settings);
    Cluster cluster = new Cluster(places, settings, context.time());
    boolean opened = false;
    try {
      cluster.census().open(Deadline.in(context.time(), context.options().requestTimeout()));
      opened = true;
      return new RedlockBackend(cluster, settings, context.time());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new Failures(RedlockBackend.NAME, cluster.endpoint(), false)
          .passing("interrupted while connecting", e);
    } finally {
      if (!opened) {
        cluster.close();
      }
    }
  }

  private static void requireSensible(List<Place> places, RedlockSettings settings) {
    long different = places.stream().map(Place::name).distinct().count();
    if (different < places.size()) {
      throw new LockConfigurationException(
          "redlock: the same node is listed twice among "
              + places.stream().map(Place::name).toList());
    }
    int nodes = places.size();
    if (!settings.force() && (nodes < MIN_NODES || nodes % 2 == 0)) {
      throw new LockConfigurationException(
          "redlock: "
              + nodes
              + (nodes == 1 ? " node is" : " nodes are")
              + " no better than "
              + (nodes < MIN_NODES ? "one Redis" : nodes - 1)
              + "; list 3, 5 or 7 independent servers, or insist with force=true");
    }
  }
}
