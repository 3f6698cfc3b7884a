package dev.interlock.zookeeper;

import dev.interlock.spi.Share;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The holders of a lock and its waiters, as listed at one moment.
 *
 * <p>The first nodes whose weights fit into the capacity together are the holders. So nobody
 * overtakes a writer, or a request for more permits. And as no node ever comes in ahead of another,
 * a node that is granted stays so, and every client comes to the same result, however old the state
 * that it sees.
 *
 * <p>The first node decides what the lock is used as. A claim that disagrees with it when it joins
 * is refused, and its client removes the node. It counts like a writer until then, also when it has
 * become the first: those behind it cannot know whether its client still saw another before it.
 * Those that have joined are never refused, whoever becomes the first.
 *
 * @param nodes in the order of arrival
 * @param foreign names of nodes that no lock client created
 * @param lastChange the last transaction that created or deleted one of them; 0 if there was none
 */
record LockQueue(List<NodeName> nodes, List<String> foreign, long lastChange) {

  /**
   * How many nodes a claim for the whole lock watches when no more are ahead. It then needs no look
   * to know that it is granted; a waiter further behind looks once, while that many have yet to
   * hold the lock.
   */
  private static final int WATCHED = 4;

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

  /** A queue in which a node is alone. */
  static LockQueue ofOne(QueueNode node) {
    return new LockQueue(List.of(node.name()), List.of(), node.token());
  }

  boolean isEmpty() {
    return nodes.isEmpty();
  }

  /** The position of a node, 0 for the first holder's; -1 if it is not in the queue. */
  int positionOf(NodeName name) {
    return nodes.indexOf(name);
  }

  /** The nodes that one claim created. */
  List<NodeName> of(String claimId) {
    return nodes.stream().filter(node -> node.claimId().equals(claimId)).toList();
  }

  /** This queue without the nodes that were deleted meanwhile. */
  LockQueue only(Set<NodeName> present) {
    return new LockQueue(nodes.stream().filter(present::contains).toList(), foreign, lastChange);
  }

  // --- who holds the lock ---------------------------------------------------------------------

  /** What the lock is used as; null if the queue is empty. */
  @Nullable Share use() {
    return isEmpty() ? null : nodes.get(0).share();
  }

  /** How many nodes hold the lock, all of them ahead of the waiters. */
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

  // --- what the others wait for ---------------------------------------------------------------

  /** What the node at a position waits for; null if it holds the lock. */
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
      return position <= WATCHED
          ? new Blocker(nodes.subList(0, position), true, true, false)
          : blocker(position - WATCHED, false, false);
    }
    // A reader. Other readers are not in its way.
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

  private Blocker blocker(int position, boolean isOnly, boolean untilGranted) {
    return new Blocker(List.of(nodes.get(position)), isOnly, position == 0, untilGranted);
  }

  /**
   * Whether the waiter behind a holder may wait to hear of that grant. If it joined before the
   * permits became free, it is in this listing, which shows them as free. Only the next node
   * counts: it alone watches this one.
   */
  boolean isAwaited(int position) {
    return nodes.get(position).isSomePermits()
        && position + 1 < nodes.size()
        && nodes.get(position + 1).isSomePermits();
  }
}
