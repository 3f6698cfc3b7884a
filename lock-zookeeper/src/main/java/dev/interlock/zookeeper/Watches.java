package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.zookeeper.Watcher;

/**
 * The watchers of nodes on one session. The servers keep one watch per session and node, and end it
 * for all its watchers, so only the last watcher may ask them to. All readers of a lock watch the
 * same writer, for example.
 */
final class Watches {

  @GuardedBy("this")
  private final Map<String, Set<Watcher>> watchers = new HashMap<>();

  /** Adds a watcher, and sends the request that sets the watch. */
  synchronized <T> T begin(String path, Watcher watcher, Supplier<T> request) {
    watchers.computeIfAbsent(path, key -> new HashSet<>()).add(watcher);
    return request.get();
  }

  /** Removes a watcher whose watch the servers no longer have. */
  synchronized void forget(String path, Watcher watcher) {
    remove(path, watcher);
  }

  /**
   * Removes a watcher, and sends the request that ends the watch if it was the last. The two are
   * one step, so that the request does not end the watch of the next watcher.
   */
  synchronized void end(String path, Watcher watcher, Runnable request) {
    if (remove(path, watcher)) {
      request.run();
    }
  }

  @GuardedBy("this")
  private boolean remove(String path, Watcher watcher) {
    Set<Watcher> ofPath = watchers.get(path);
    if (ofPath == null || !ofPath.remove(watcher) || !ofPath.isEmpty()) {
      return false;
    }
    watchers.remove(path);
    return true;
  }
}
