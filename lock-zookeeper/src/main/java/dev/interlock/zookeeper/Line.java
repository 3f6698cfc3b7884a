package dev.interlock.zookeeper;

import com.google.common.collect.ImmutableList;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * Who holds a lock and who waits for it, as listed at one moment: the first is the holder.
 *
 * @param nodes in the order of arrival
 * @param foreign names of nodes that no lock client made
 */
record Line(ImmutableList<LineNode> nodes, ImmutableList<String> foreign) {

  static final Line EMPTY = of(List.of());

  static Line of(Collection<String> children) {
    List<LineNode> nodes = new ArrayList<>(children.size());
    ImmutableList.Builder<String> foreign = ImmutableList.builder();
    for (String child : children) {
      LineNode.parse(child).ifPresentOrElse(nodes::add, () -> foreign.add(child));
    }
    return new Line(ImmutableList.sortedCopyOf(nodes), foreign.build());
  }

  boolean isEmpty() {
    return nodes.isEmpty();
  }

  /** The place of the named node, 0 for the holder's; -1 if it is not in line. */
  int placeOf(String name) {
    for (int i = 0; i < nodes.size(); i++) {
      if (nodes.get(i).name().equals(name)) {
        return i;
      }
    }
    return -1;
  }

  /** The nodes that one attempt has made. */
  List<LineNode> of(String claimId) {
    return nodes.stream().filter(node -> node.claimId().equals(claimId)).toList();
  }
}
