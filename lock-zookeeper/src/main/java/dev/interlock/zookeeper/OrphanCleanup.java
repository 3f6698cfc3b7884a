package dev.interlock.zookeeper;

import dev.interlock.spi.DelayedTasks;
import java.time.Duration;
import java.util.List;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes the node that a claim may have left on a session that outlives this client, because the
 * node's creation or deletion was never confirmed. The cleanup lists and deletes again, with
 * growing pauses, until the deletion is confirmed or the session ends. It uses no thread of its
 * own.
 */
final class OrphanCleanup {

  private static final Logger log = LoggerFactory.getLogger(OrphanCleanup.class);

  private static final Duration MIN_PAUSE = Duration.ofMillis(100);
  private static final Duration MAX_PAUSE = Duration.ofSeconds(30);

  private final ZooKeeper driver;
  private final DelayedTasks delayed;
  private final String prefix;
  private final String lock;
  private final Runnable onDone;
  private volatile Duration pause = MIN_PAUSE;
  private volatile boolean refusalIsLogged;

  /**
   * Prepares a cleanup.
   *
   * @param driver the session's
   * @param delayed a scheduler that is not closed before the cleanup is done
   * @param prefix the beginning of the node's path
   * @param onDone called when the node certainly does not exist and the session lives on
   */
  OrphanCleanup(ZooKeeper driver, DelayedTasks delayed, String prefix, Runnable onDone) {
    this.driver = driver;
    this.delayed = delayed;
    this.prefix = prefix;
    this.lock = parent(prefix);
    this.onDone = onDone;
  }

  private static String parent(String path) {
    return path.substring(0, path.lastIndexOf('/'));
  }

  /** Starts the cleanup. Does not block. */
  void start() {
    if (driver.getState().isAlive()) {
      // A listing that follows a committed transaction shows the effect of every earlier request,
      // on any connection. A check that fails is committed as well.
      driver.multi(List.of(Op.check(parent(lock), -1)), this::onCommit, null);
    }
  }

  private void onCommit(
      int code, String path, @Nullable Object context, @Nullable List<OpResult> results) {
    if (code == Code.OK.intValue() || code == Code.NOAUTH.intValue()) {
      driver.getChildren(lock, false, this::onListing, null);
    } else {
      retryUnlessDone(code);
    }
  }

  private void onListing(
      int code, String path, @Nullable Object context, @Nullable List<String> names) {
    if (code != Code.OK.intValue() || names == null) {
      retryUnlessDone(code);
      return;
    }
    List<String> orphans =
        names.stream().map(name -> lock + "/" + name).filter(n -> n.startsWith(prefix)).toList();
    if (orphans.isEmpty()) {
      onDone.run();
    }
    for (String node : orphans) {
      driver.delete(node, -1, (outcome, asked, ignored) -> retryUnlessDone(outcome), null);
    }
  }

  private void retryUnlessDone(int code) {
    if (code == Code.NOAUTH.intValue() && !refusalIsLogged) {
      refusalIsLogged = true;
      log.warn("the server refuses to delete {}*; retrying until the session ends", prefix);
    }
    if (code == Code.OK.intValue() || code == Code.NONODE.intValue()) {
      onDone.run();
    } else {
      Duration next = pause;
      pause = next.compareTo(MAX_PAUSE.dividedBy(2)) > 0 ? MAX_PAUSE : next.multipliedBy(2);
      delayed.run(this::start, next);
    }
  }
}
