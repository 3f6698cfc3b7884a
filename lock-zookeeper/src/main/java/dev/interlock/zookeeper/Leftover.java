package dev.interlock.zookeeper;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an attempt may have left on a session that goes on without us: a node that nobody knows of,
 * or one whose deletion is not confirmed. It is looked for and deleted until that is confirmed, for
 * as long as the session lasts, with growing pauses, and without a thread of its own.
 */
final class Leftover {

  private static final Logger log = LoggerFactory.getLogger(Leftover.class);

  private static final long SHORTEST_PAUSE_MILLIS = 100;
  private static final long LONGEST_PAUSE_MILLIS = 30_000;

  private final ZooKeeper driver;
  private final String prefix;
  private final String lock;
  private volatile long pause = SHORTEST_PAUSE_MILLIS;
  private volatile boolean refusalIsLogged;

  /**
   * Something that may be left.
   *
   * @param driver the session's
   * @param prefix how the node's path begins
   */
  Leftover(ZooKeeper driver, String prefix) {
    this.driver = driver;
    this.prefix = prefix;
    this.lock = parent(prefix);
  }

  private static String parent(String path) {
    return path.substring(0, path.lastIndexOf('/'));
  }

  /** Does not block. */
  void remove() {
    if (driver.getState().isAlive()) {
      // What is listed after it is no older than whatever was asked before, over any connection.
      driver.multi(List.of(Op.check(parent(lock), -1)), this::caughtUp, null);
    }
  }

  private void caughtUp(
      int code, String path, @Nullable Object context, @Nullable List<OpResult> results) {
    // A check that fails is committed as well.
    if (code == Code.OK.intValue() || code == Code.NOAUTH.intValue()) {
      driver.getChildren(lock, false, this::listed, null);
    } else {
      removeLater(code);
    }
  }

  private void listed(
      int code, String path, @Nullable Object context, @Nullable List<String> names) {
    if (code != Code.OK.intValue() || names == null) {
      removeLater(code);
      return;
    }
    for (String name : names) {
      String node = lock + "/" + name;
      if (node.startsWith(prefix)) {
        driver.delete(node, -1, (outcome, asked, ignored) -> removeLater(outcome), null);
      }
    }
  }

  private void removeLater(int code) {
    if (code == Code.NOAUTH.intValue() && !refusalIsLogged) {
      refusalIsLogged = true;
      log.warn(
          "the server does not let us remove {}*; trying again until its session ends", prefix);
    }
    if (code != Code.OK.intValue() && code != Code.NONODE.intValue()) {
      CompletableFuture.delayedExecutor(pause, MILLISECONDS, Runnable::run).execute(this::remove);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS);
    }
  }
}
