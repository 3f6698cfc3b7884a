package dev.interlock.zookeeper;

import dev.interlock.spi.Share;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The holders and waiters of a lock at one moment.
 *
 * <p>The holders are the first nodes whose weights together fit into the capacity. So no claim
 * overtakes a writer, or a request for more permits. No node ever gets ahead of another. So a
 * granted node stays granted, and every client comes to the same result, however old the state that
 * it sees.
 *
 * <p>The first node decides the kind and capacity of the lock. A claim that disagrees with the
 * first node when it joins is refused, and its client removes its node. Until then the node counts
 * as a writer, even when it has become the first: the nodes behind it cannot know whether its
 * client saw another node before it. A claim that has joined is never refused, whichever node
 * becomes the first.
 *
 * @param nodes in the order of arrival
 * @param foreign names of nodes that no lock client created
 * @param lastChange the last transaction that created or deleted a node; 0 if there was none
 */
record LockQueue(List<NodeName> nodes, List<String> foreign, long lastChange) {

  /**
   * The maximum number of nodes ahead that a claim for the whole lock watches all of. Such a claim
   * knows without another listing when it is granted. A waiter further behind lists the queue once,
   * when this many nodes are left ahead of it.
   */
  private static final int MAX_WATCHED_NODES = 4;

  LockQueue {
    nodes = List.copyOf(nodes);
    foreign = List.copyOf(foreign);
  }

  static final LockQueue EMPTY = of(new Session.Children(List.of(), 0));

  static LockQueue of(Session.Children children) {
    List<NodeName> nodes = new ArrayList<>(children.names().size());
    List<String> foreign = new ArrayList<>();
    for (String child : children.names()) {
      NodeName.parse(child).ifPresentOrElse(nodes::add, () -> foreign.add(child));
    }
    Collections.sort(nodes);
    return new LockQueue(nodes, foreign, children.lastChange());
  }

  static LockQueue ofOne(QueueNode node) {
    return new LockQueue(List.of(node.name()), List.of(), node.token());
  }

  boolean isEmpty() {
    return nodes.isEmpty();
  }

  /**
   * The position of a node; 0 is the first holder's, -1 means that the node is not in the queue.
   */
  int positionOf(NodeName name) {
    return nodes.indexOf(name);
  }

  /** The nodes that one claim created. */
  List<NodeName> of(String claimId) {
    return nodes.stream().filter(node -> node.claimId().equals(claimId)).toList();
  }

  /** A copy of this queue with only the given nodes. */
  LockQueue retaining(Set<NodeName> existing) {
    return new LockQueue(nodes.stream().filter(existing::contains).toList(), foreign, lastChange);
  }

  // --- who holds the lock ---------------------------------------------------------------------

  /**
   * The share of the first node, which decides the kind and capacity of the lock; null if the queue
   * is empty.
   */
  @Nullable Share use() {
    return isEmpty() ? null : nodes.get(0).share();
  }

  /** The number of nodes that hold the lock, all of them ahead of the waiters. */
  int holders() {
    long weight = 0;
    for (int i = 0; i < nodes.size(); i++) {
      weight += weight(i);
      if (weight > nodes.get(0).share().capacity()) {
        return i;
      }
    }
    return nodes.size();
  }

  private long weight(int position) {
    Share first = nodes.get(0).share();
    Share share = nodes.get(position).share();
    return share.agreesWith(first) ? share.weight() : first.capacity();
  }

  /** Whether a claim that joined now would be granted at once. */
  boolean admits(Share share) {
    if (isEmpty()) {
      return true;
    }
    long weight = share.weight();
    for (int i = 0; i < nodes.size(); i++) {
      weight += weight(i);
    }
    return share.agreesWith(nodes.get(0).share()) && weight <= share.capacity();
  }

  // --- what the waiters wait for --------------------------------------------------------------

  /** The nodes for which the node at a position waits; null if it holds the lock. */
  @Nullable Blocker blockerOf(int position) {
    int holders = holders();
    if (position < holders) {
      return null;
    }
    NodeName node = nodes.get(position);
    if (node.isSomePermits()) {
      return position == holders ? Blocker.PERMITS : blocker(position - 1, false, true);
    }
    if (node.share().isWhole()) {
      return position <= MAX_WATCHED_NODES
          ? new Blocker(nodes.subList(0, position), true, true, false)
          : blocker(position - MAX_WATCHED_NODES, false, false);
    }
    // A reader waits for no other reader.
    int nearest = position - 1;
    while (!excludesReaders(nearest)) {
      nearest--;
    }
    int first = 0;
    while (!excludesReaders(first)) {
      first++;
    }
    return blocker(nearest, nearest == first, false);
  }

  private boolean excludesReaders(int position) {
    return !nodes.get(position).share().equals(Share.READ);
  }

  private Blocker blocker(int position, boolean isOnly, boolean watchesGrants) {
    return new Blocker(List.of(nodes.get(position)), isOnly, position == 0, watchesGrants);
  }

  /**
   * Whether the waiter behind a holder may be waiting for a notification of the holder's grant. If
   * that waiter joined before the permits became free, it is in this listing, which shows them as
   * free. Only the next node counts, because it alone watches this one.
   */
  boolean isGrantAwaited(int position) {
    return nodes.get(position).isSomePermits()
        && position + 1 < nodes.size()
        && nodes.get(position + 1).isSomePermits();
  }
}
