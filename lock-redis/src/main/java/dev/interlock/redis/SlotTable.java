package dev.interlock.redis;

import com.google.common.collect.ImmutableRangeMap;
import com.google.common.collect.Range;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
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
 * The primaries of a cluster by hash slot, as far as we know. A request for a slot of a suspect
 * node first asks the other nodes where the slot is; other requests do not wait for that.
 */
final class SlotTable {

  /** The shortest time between two tables. */
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /** How long to wait for one node before asking the next. */
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private record Table(
      ImmutableRangeMap<Integer, PooledNode> nodes,
      Set<HostAndPort> addresses,
      long madeAt,
      Set<Connections> suspects) {

    Table(ImmutableRangeMap<Integer, PooledNode> nodes, Set<HostAndPort> addresses, long madeAt) {
      this(nodes, addresses, madeAt, ConcurrentHashMap.newKeySet());
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
   * The answer of a node.
   *
   * @param host the node's address, which stands for those that the answer leaves out
   */
  private record Answer(List<?> ranges, String host) {}

  private final ClusterMembers members;
  private final TimeSource time;
  private final ReentrantLock refreshing = new ReentrantLock();
  private volatile Table table;

  SlotTable(ClusterMembers members, TimeSource time) {
    this.members = members;
    this.time = time;
    this.table = new Table(ImmutableRangeMap.of(), Set.of(), time.nanoTime() - PAUSE_NANOS);
  }

  /** Notes that a node did not answer, or redirected us: another may have its slots by now. */
  void suspect(PooledNode node) {
    table.suspects.add(node.pool());
  }

  /**
   * Returns the node that has a slot. Asks the cluster first if that node is suspect, until about
   * the deadline: connecting may take longer.
   */
  PooledNode node(int slot, Deadline deadline) throws InterruptedException {
    PooledNode certain = table.certain(slot);
    if (certain != null) {
      return certain;
    }
    refresh(slot, deadline);
    PooledNode node = table.nodes.get(slot);
    if (node == null) {
      throw new JedisClusterOperationException("no node of the cluster serves slot " + slot);
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
    Set<PooledNode> visited = new HashSet<>();
    for (Map.Entry<Range<Integer>, PooledNode> range : table.nodes.asMapOfRanges().entrySet()) {
      int first = range.getKey().lowerEndpoint();
      if (visited.add(range.getValue()) && first > slot) {
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
      if (time.nanoTime() - old.madeAt < PAUSE_NANOS) {
        return;
      }
      JedisException problem = null;
      Table fresh = null;
      int answers = 0;
      List<PooledNode> witnesses = members.known();
      Collections.shuffle(witnesses);
      witnesses.sort(Comparator.comparing(old::isSuspect)); // false before true
      for (PooledNode node : witnesses) {
        try {
          Answer answer =
              node.use(
                  deadline.orIn(PATIENCE),
                  true,
                  false,
                  wire -> new Answer(wire.slots(), wire.address().getHost()));
          Table its = read(answer);
          answers++;
          // A node that was reset knows no slots, and one that was cut off fewer than others:
          // they do not speak for those that do not answer.
          if (fresh == null || its.has(slot)) {
            fresh = its;
          }
        } catch (JedisException e) {
          problem = e;
        }
        if ((fresh != null && fresh.has(slot)) || deadline.hasPassed()) {
          break;
        }
      }
      if (fresh != null && (fresh.has(slot) || answers == witnesses.size())) {
        table = fresh;
        members.consistOf(fresh.addresses);
      } else if (!old.has(slot) && problem != null) {
        throw problem;
      }
    } finally {
      refreshing.unlock();
    }
  }

  // Per range of slots: first, last, and its nodes, the primary first, each with host and port
  // before other elements.
  private Table read(Answer answer) {
    Map<HostAndPort, PooledNode> nodes = new HashMap<>();
    Set<HostAndPort> addresses = new HashSet<>();
    ImmutableRangeMap.Builder<Integer, PooledNode> ranges = ImmutableRangeMap.builder();
    for (Object entry : answer.ranges()) {
      List<?> range = (List<?>) entry;
      if (range.size() < 3) {
        continue;
      }
      for (Object node : range.subList(2, range.size())) {
        addresses.add(address((List<?>) node, answer));
      }
      HostAndPort address = address((List<?>) range.get(2), answer);
      ranges.put(
          Range.closed(((Long) range.get(0)).intValue(), ((Long) range.get(1)).intValue()),
          nodes.computeIfAbsent(address, members::at));
    }
    return new Table(ranges.build(), addresses, time.nanoTime());
  }

  private static HostAndPort address(List<?> node, Answer answer) {
    String host = node.get(0) == null ? "" : Wire.text(node.get(0));
    return new HostAndPort(host.isEmpty() ? answer.host() : host, ((Long) node.get(1)).intValue());
  }
}
