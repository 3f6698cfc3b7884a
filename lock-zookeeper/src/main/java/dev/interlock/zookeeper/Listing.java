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
 * <p>Each page shows states of moments within its call, because its reads follow a committed
 * transaction on the same session. So a lock that is held throughout is listed, even if it passes
 * from one client to the next meanwhile. A lock whose release was confirmed earlier is not listed.
 * The states do not contain the waiters. A lock with a foreign node is left out; {@link
 * ZooKeeperBackend#inspect} refuses it with the reason.
 *
 * <p>Without the right to read a lock's node, the client cannot know whether the lock is held. The
 * listing continues past such locks, and fails after its last page with a message that names the
 * first of them.
 *
 * <p>The first page costs one request for the names of all locks of the namespace, which the later
 * pages use as well. Each page costs one request for each lock that it reads, and one for each
 * holder. No request is repeated after a broken connection: the driver breaks the connection when a
 * reply is longer than {@code jute.maxbuffer}, and would do so again.
 */
final class Listing {

  private final Session session;
  private final String namespacePath;
  private final Failures failures;
  private final Deadline deadline;

  private String prefix = "";

  /** The names for the later pages. */
  private List<String> remaining = List.of();

  private @Nullable String next;

  /**
   * The node of the first lock on this page or an earlier one that the client may not read; empty
   * if there is none.
   */
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
   * @param cursor two nodes with a slash between them: that of the last lock of the previous page,
   *     empty if there are no more locks, and that of the first lock that the client may not read,
   *     empty if there is none
   * @param last the last listing, perhaps of the previous page; null if there is none
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
    List<String> ofPage = names.subList(0, Math.min(limit, names.size()));
    remaining = names.subList(ofPage.size(), names.size());
    List<LockState> states = heldStates(ofPage);
    if (!remaining.isEmpty()) {
      next = LockPaths.node(ofPage.get(limit - 1)) + "/" + refused;
    } else if (!refused.isEmpty()) {
      next = "/" + refused;
    }
    return new LockPage(states, next);
  }

  /**
   * Compares the cursor by identity: the names of another listing with an equal cursor may be
   * older.
   */
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

  /** Returns the states of the held locks. Sends all requests before it waits for a reply. */
  private List<LockState> heldStates(List<String> names)
      throws KeeperException, InterruptedException {
    List<LockState> states = new ArrayList<>();
    List<String> pending = names;
    while (!pending.isEmpty()) {
      List<Held> requested = new ArrayList<>();
      queues(pending)
          .forEach(
              (name, queue) -> {
                List<NodeName> holders = queue.nodes().subList(0, queue.holders());
                requested.add(new Held(name, queue, session.dataOf(path(name), holders)));
              });
      pending = new ArrayList<>();
      for (Held lock : requested) {
        Map<NodeName, Session.NodeData> existing = existingNodes(lock.holders());
        if (existing.isEmpty()) {
          pending.add(lock.name()); // the lock may have passed to a waiter
        } else {
          states.add(ZooKeeperBackend.heldState(lock.name(), lock.queue(), existing));
        }
      }
    }
    return states;
  }

  private Map<NodeName, Session.NodeData> existingNodes(
      Map<NodeName, ReplyFuture<Session.NodeData>> replies)
      throws KeeperException, InterruptedException {
    Map<NodeName, Session.NodeData> existing = new HashMap<>();
    for (var reply : replies.entrySet()) {
      try {
        existing.put(reply.getKey(), reply.getValue().await(deadline));
      } catch (KeeperException e) {
        if (e.code() == Code.NOAUTH) {
          existing.put(reply.getKey(), Session.NodeData.REFUSED);
        } else if (!Failures.isNoNode(e)) {
          throw e;
        }
      }
    }
    return existing;
  }

  /** Returns the queues of the held locks. */
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
