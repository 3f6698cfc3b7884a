package dev.interlock.zookeeper;

import com.google.common.collect.ImmutableList;
import java.util.ArrayList;
import java.util.List;

/**
 * The holder of a lock and its waiters, as listed at one moment.
 *
 * @param nodes in the order of arrival; the first one holds the lock
 * @param foreign names of nodes that no lock client created
 * @param lastChange the last transaction that created or deleted one of them; 0 if there was none
 */
record LockQueue(ImmutableList<NodeName> nodes, ImmutableList<String> foreign, long lastChange) {

  static final LockQueue EMPTY = of(new Session.Children(List.of(), 0));

  static LockQueue of(Session.Children children) {
    List<NodeName> nodes = new ArrayList<>(children.names().size());
    ImmutableList.Builder<String> foreign = ImmutableList.builder();
    for (String child : children.names()) {
      NodeName.parse(child).ifPresentOrElse(nodes::add, () -> foreign.add(child));
    }
    return new LockQueue(ImmutableList.sortedCopyOf(nodes), foreign.build(), children.lastChange());
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
