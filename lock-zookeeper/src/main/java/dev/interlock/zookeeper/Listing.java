package dev.interlock.zookeeper;

import dev.interlock.LockState;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockPage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * One page of a listing, in the order of the locks' names.
 *
 * <p>Each page tells of moments within its call: its reads follow a committed transaction on the
 * same session. So a lock that is held throughout is listed, even if it passes from one client to
 * the next meanwhile, and one whose release was confirmed before is not. The states lack the
 * waiters. A lock with a foreign node is left out; {@link ZooKeeperBackend#inspect} refuses it with
 * the reason.
 *
 * <p>Whether a lock is held cannot be told without the right to read its node. The listing
 * continues past it, and fails after its last page, with a message that names the first such lock.
 *
 * <p>The first page costs one request for the names of all locks of the namespace, which the
 * following pages use as well. For each lock that it looks at a page costs one request, and another
 * for each holder. No request is repeated after a broken connection: the driver breaks the
 * connection over an answer that is longer than {@code jute.maxbuffer}, and would do so again.
 */
final class Listing {

  private final Session session;
  private final String namespacePath;
  private final Failures failures;
  private final Deadline deadline;

  private String prefix = "";

  /** The names that are left for the pages that follow. */
  private List<String> remaining = List.of();

  private @Nullable String next;

  /** The node of the first lock that may not be read, if there was one on this page or before. */
  private String refused = "";

  Listing(Session session, String namespacePath, Failures failures, Deadline deadline) {
    this.session = session;
    this.namespacePath = namespacePath;
    this.failures = failures;
    this.deadline = deadline;
  }

  /**
   * Reads a page.
   *
   * @param cursor the nodes of the last lock of the page before, if there are more, and of the
   *     first lock that may not be read, if there is one, with a slash between them
   * @param last the last listing, perhaps of the page before; null if that is not known
   */
  LockPage page(String prefix, @Nullable String cursor, int limit, @Nullable Listing last)
      throws KeeperException, InterruptedException {
    this.prefix = prefix;
    String after = "";
    if (cursor != null) {
      int slash = cursor.indexOf('/');
      refused = cursor.substring(slash + 1);
      if (slash == 0) {
        throw failures.notListed(LockPaths.nameOf(refused).orElse(refused));
      }
      after = LockPaths.nameOf(cursor.substring(0, slash)).orElse("");
    }
    List<String> names;
    if (last != null && last.isFollowedBy(prefix, cursor)) {
      names = last.remaining;
      session.commit().await(deadline);
    } else {
      names = namesAfter(after);
    }
    List<String> present = names.subList(0, Math.min(limit, names.size()));
    remaining = names.subList(present.size(), names.size());
    List<LockState> held = held(present);
    if (!remaining.isEmpty()) {
      next = LockPaths.node(present.get(limit - 1)) + "/" + refused;
    } else if (!refused.isEmpty()) {
      next = "/" + refused;
    }
    return new LockPage(held, next);
  }

  /** By identity: the names of another listing, with an equal cursor, may be older. */
  @SuppressWarnings("ReferenceEquality")
  private boolean isFollowedBy(String otherPrefix, @Nullable String cursor) {
    return cursor != null && prefix.equals(otherPrefix) && next == cursor;
  }

  private List<String> namesAfter(String last) throws KeeperException, InterruptedException {
    ReplyFuture<?> caughtUp = session.commit();
    ReplyFuture<Session.Children> locks = session.children(namespacePath);
    caughtUp.await(deadline);
    try {
      return locks.await(deadline).names().stream()
          .flatMap(node -> LockPaths.nameOf(node).stream())
          .filter(name -> name.startsWith(prefix) && name.compareTo(last) > 0)
          .sorted()
          .toList();
    } catch (KeeperException e) {
      if (Failures.isNoNode(e)) {
        return List.of();
      }
      throw e;
    }
  }

  /** A lock that is held, and the requests for its holders' nodes. */
  private record Held(
      String name, LockQueue queue, Map<NodeName, ReplyFuture<Session.NodeData>> holders) {}

  /** Those of the locks that are held. Sends the requests for all before it waits for a reply. */
  private List<LockState> held(List<String> names) throws KeeperException, InterruptedException {
    List<LockState> held = new ArrayList<>();
    List<String> open = names;
    while (!open.isEmpty()) {
      List<Held> requested = new ArrayList<>();
      queues(open)
          .forEach(
              (name, queue) -> {
                List<NodeName> holders = queue.nodes().subList(0, queue.holders());
                requested.add(new Held(name, queue, session.dataOf(path(name), holders)));
              });
      open = new ArrayList<>();
      for (Held lock : requested) {
        Map<NodeName, Session.NodeData> present = present(lock.holders());
        if (present.isEmpty()) {
          open.add(lock.name()); // the lock may have passed to a waiter
        } else {
          held.add(ZooKeeperBackend.held(lock.name(), lock.queue(), present));
        }
      }
    }
    return held;
  }

  private Map<NodeName, Session.NodeData> present(
      Map<NodeName, ReplyFuture<Session.NodeData>> replies)
      throws KeeperException, InterruptedException {
    Map<NodeName, Session.NodeData> present = new HashMap<>();
    for (var reply : replies.entrySet()) {
      try {
        present.put(reply.getKey(), reply.getValue().await(deadline));
      } catch (KeeperException e) {
        if (e.code() == Code.NOAUTH) {
          present.put(reply.getKey(), Session.NodeData.REFUSED);
        } else if (!Failures.isNoNode(e)) {
          throw e;
        }
      }
    }
    return present;
  }

  /** The queues of those locks that are held. */
  private Map<String, LockQueue> queues(List<String> names)
      throws KeeperException, InterruptedException {
    Map<String, ReplyFuture<Session.Children>> listings = new LinkedHashMap<>();
    names.forEach(name -> listings.put(name, session.children(path(name))));
    Map<String, LockQueue> queues = new LinkedHashMap<>();
    for (var each : listings.entrySet()) {
      try {
        LockQueue queue = LockQueue.of(each.getValue().await(deadline));
        if (!queue.isEmpty() && queue.foreign().isEmpty()) {
          queues.put(each.getKey(), queue);
        }
      } catch (KeeperException e) {
        if (e.code() == Code.NOAUTH && refused.isEmpty()) {
          refused = LockPaths.node(each.getKey());
        }
        if (e.code() != Code.NOAUTH && !Failures.isNoNode(e)) {
          throw e;
        }
      }
    }
    return queues;
  }

  private String path(String name) {
    return LockPaths.of(namespacePath, name);
  }
}
