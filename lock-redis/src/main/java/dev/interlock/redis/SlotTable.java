package dev.interlock.redis;

import com.google.common.collect.ImmutableRangeMap;
import com.google.common.collect.Range;
import com.google.common.collect.RangeMap;
import com.google.common.collect.TreeRangeMap;
import com.google.common.collect.TreeRangeSet;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisClusterOperationException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * The primaries of a cluster by hash slot, as far as this client knows. A node that failed is
 * suspect. A request for one of its slots first asks the other nodes where the slot is; requests
 * for other slots do not wait for that.
 */
final class SlotTable {

  private static final long MIN_REFRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /** The time-out of one node, after which the next is asked. */
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(1);

  private record Table(
      ImmutableRangeMap<Integer, PooledNode> nodes, long madeAt, Set<Connections> suspects) {

    static Table empty(long madeAt) {
      return new Table(ImmutableRangeMap.of(), madeAt, ConcurrentHashMap.newKeySet());
    }

    boolean has(int slot) {
      return nodes.get(slot) != null;
    }

    /** Returns the node that has a slot; null if it is unknown or suspect. */
    @Nullable PooledNode certain(int slot) {
      PooledNode node = nodes.get(slot);
      return node == null || isSuspect(node) ? null : node;
    }

    boolean isSuspect(PooledNode node) {
      return suspects.contains(node.pool());
    }
  }

  /**
   * The slots as one node knows them. A node that was reset knows no slots; one that was cut off,
   * or has just joined, knows fewer than others.
   *
   * @param addresses the addresses of all nodes
   */
  private record Answer(RangeMap<Integer, HostAndPort> primaries, Set<HostAndPort> addresses) {

    boolean has(int slot) {
      return primaries.get(slot) != null;
    }

    boolean covers(Table table) {
      return TreeRangeSet.create(primaries.asMapOfRanges().keySet())
          .enclosesAll(table.nodes.asMapOfRanges().keySet());
    }
  }

  private final ClusterMembers members;
  private final TimeSource time;
  private final ReentrantLock refreshing = new ReentrantLock();
  private volatile Table table;

  SlotTable(ClusterMembers members, TimeSource time) {
    this.members = members;
    this.time = time;
    this.table = Table.empty(time.nanoTime() - MIN_REFRESH_NANOS);
  }

  /** Marks a node that failed or redirected a request: another node may have its slots now. */
  void suspect(PooledNode node) {
    table.suspects.add(node.pool());
  }

  /**
   * Returns the node that has a slot. Asks the cluster first if that node is suspect. This ends at
   * about the deadline; connecting may take longer.
   */
  PooledNode node(int slot, Deadline deadline) throws InterruptedException {
    PooledNode certain = table.certain(slot);
    if (certain != null) {
      return certain;
    }
    refresh(slot, deadline);
    PooledNode node = table.nodes.get(slot);
    if (node == null) {
      throw new JedisClusterOperationException("no node that can be reached serves slot " + slot);
    }
    return node;
  }

  /** Returns an identifier of the current table. */
  String layout() {
    return Long.toHexString(table.madeAt);
  }

  /**
   * Returns the first slot of the next node, in the order of the nodes' first slots; empty after
   * the last.
   */
  OptionalInt slotOfNextNode(int slot) {
    Set<Connections> visited = new HashSet<>();
    for (Map.Entry<Range<Integer>, PooledNode> range : table.nodes.asMapOfRanges().entrySet()) {
      int first = range.getKey().lowerEndpoint();
      if (visited.add(range.getValue().pool()) && first > slot) {
        return OptionalInt.of(first);
      }
    }
    return OptionalInt.empty();
  }

  private void refresh(int slot, Deadline deadline) throws InterruptedException {
    if (!refreshing.tryLock(Math.max(0, deadline.remainingNanos()), TimeUnit.NANOSECONDS)) {
      return;
    }
    try {
      Table old = table;
      if (old.certain(slot) != null) {
        return;
      }
      if (time.nanoTime() - old.madeAt < MIN_REFRESH_NANOS) {
        return;
      }
      JedisException problem = null;
      List<Answer> partial = new ArrayList<>();
      List<PooledNode> nodesToAsk = members.known();
      Collections.shuffle(nodesToAsk);
      nodesToAsk.sort(Comparator.comparing(old::isSuspect)); // false before true
      for (PooledNode node : nodesToAsk) {
        if (old.isSuspect(node) && partial.stream().anyMatch(each -> each.has(slot))) {
          break;
        }
        try {
          Answer answer = ask(node, deadline);
          if (answer.has(slot) && answer.covers(old)) {
            adopt(answer);
            return;
          }
          partial.add(answer);
        } catch (JedisException e) {
          problem = e;
        }
        if (deadline.hasPassed()) {
          break;
        }
      }
      if (!partial.isEmpty()) {
        adoptPartial(partial, partial.size() == nodesToAsk.size(), slot, old);
      } else if (!old.has(slot) && problem != null) {
        throw problem;
      }
    } finally {
      refreshing.unlock();
    }
  }

  /** Adopts the best answer for its slots. Unless all nodes answered, the other slots stay. */
  private void adoptPartial(List<Answer> answers, boolean ofAll, int slot, Table old) {
    Answer best =
        Collections.max(
            answers,
            Comparator.<Answer, Boolean>comparing(each -> each.has(slot))
                .thenComparing(each -> each.addresses.size()));
    try {
      if (ofAll) {
        adopt(best);
      } else {
        table = tableOf(best, old);
      }
    } catch (JedisException e) {
      if (!old.has(slot)) {
        throw e;
      }
    }
  }

  private void adopt(Answer answer) {
    table = tableOf(answer, Table.empty(0));
    members.retain(answer.addresses);
  }

  /** Creates a table from an answer, and takes the other slots from another table. */
  private Table tableOf(Answer answer, Table others) {
    Map<HostAndPort, PooledNode> named = new HashMap<>();
    RangeMap<Integer, PooledNode> nodes = TreeRangeMap.create();
    nodes.putAll(others.nodes);
    answer
        .primaries
        .asMapOfRanges()
        .forEach((slots, address) -> nodes.put(slots, named.computeIfAbsent(address, members::at)));
    Set<Connections> suspects = ConcurrentHashMap.newKeySet();
    suspects.addAll(others.suspects);
    named.values().forEach(node -> suspects.remove(node.pool()));
    return new Table(ImmutableRangeMap.copyOf(nodes), time.nanoTime(), suspects);
  }

  private Answer ask(PooledNode node, Deadline deadline) throws InterruptedException {
    return node.use(
        deadline.atMost(NODE_TIMEOUT),
        true,
        false,
        wire -> read(wire.slots(), wire.address().getHost()));
  }

  /**
   * Reads an answer. Each of its elements is a range of slots: first slot, last slot, primary,
   * replicas. A node begins with host and port.
   *
   * @param asked the host of the node that answers; it stands for a host that is left out
   */
  private static Answer read(List<?> answer, String asked) {
    ImmutableRangeMap.Builder<Integer, HostAndPort> primaries = ImmutableRangeMap.builder();
    Set<HostAndPort> addresses = new HashSet<>();
    for (Object entry : answer) {
      List<?> range = (List<?>) entry;
      if (range.size() < 3) {
        continue;
      }
      for (Object node : range.subList(2, range.size())) {
        addresses.add(address((List<?>) node, asked));
      }
      int first = ((Long) range.get(0)).intValue();
      int last = ((Long) range.get(1)).intValue();
      primaries.put(Range.closedOpen(first, last + 1), address((List<?>) range.get(2), asked));
    }
    return new Answer(primaries.build(), addresses);
  }

  private static HostAndPort address(List<?> node, String asked) {
    String host = node.get(0) == null ? "" : Wire.text(node.get(0));
    return new HostAndPort(host.isEmpty() ? asked : host, ((Long) node.get(1)).intValue());
  }
}
