package dev.interlock.zookeeper;

import com.google.common.collect.ImmutableList;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * The holder of a lock and its waiters, as listed at one moment.
 *
 * @param nodes in the order of arrival; the first one holds the lock
 * @param foreign names of nodes that no lock client created
 */
record LockQueue(ImmutableList<NodeName> nodes, ImmutableList<String> foreign) {

  static final LockQueue EMPTY = of(List.of());

  static LockQueue of(Collection<String> children) {
    List<NodeName> nodes = new ArrayList<>(children.size());
    ImmutableList.Builder<String> foreign = ImmutableList.builder();
    for (String child : children) {
      NodeName.parse(child).ifPresentOrElse(nodes::add, () -> foreign.add(child));
    }
    return new LockQueue(ImmutableList.sortedCopyOf(nodes), foreign.build());
  }

  boolean isEmpty() {
    return nodes.isEmpty();
  }

  /** The position of a node, 0 for the holder's; -1 if it is not in the queue. */
  int positionOf(NodeName name) {
    return nodes.indexOf(name);
  }

  /** The nodes that one claim created. */
  List<NodeName> of(String claimId) {
    return nodes.stream().filter(node -> node.claimId().equals(claimId)).toList();
  }
}
