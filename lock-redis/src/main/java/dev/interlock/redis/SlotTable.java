package dev.interlock.redis;

import com.google.common.collect.ImmutableRangeMap;
import com.google.common.collect.Range;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisClusterOperationException;
import redis.clients.jedis.exceptions.JedisException;

/** Which primary of a cluster has which hash slot, as far as we know. */
final class SlotTable {

  /** A table that failed is asked for again no sooner than this after it was made. */
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /** How long one node may take to answer before the next is asked. */
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private static final class Table {
    final ImmutableRangeMap<Integer, PooledNode> nodes;
    final long madeAt;

    Table(ImmutableRangeMap<Integer, PooledNode> nodes, long madeAt) {
      this.nodes = nodes;
      this.madeAt = madeAt;
    }
  }

  private final ClusterMembers members;
  private final TimeSource time;
  private final ReentrantLock refreshing = new ReentrantLock();
  private volatile Table table;
  private volatile @Nullable Table suspect;

  SlotTable(ClusterMembers members, TimeSource time) {
    this.members = members;
    this.time = time;
    this.table = new Table(ImmutableRangeMap.of(), time.nanoTime() - PAUSE_NANOS);
    this.suspect = table;
  }

  /** Says that a node did not answer, or sent us elsewhere: the table may be out of date. */
  void suspect() {
    suspect = table;
  }

  /**
   * Returns the node that has a slot. Asks the cluster if the table is under suspicion, until the
   * deadline at most, give or take the time that a connection takes.
   */
  PooledNode node(int slot, Deadline deadline) throws InterruptedException {
    if (suspect != null) {
      refresh(deadline);
    }
    PooledNode node = table.nodes.get(slot);
    if (node == null) {
      throw new JedisClusterOperationException("no node of the cluster serves slot " + slot);
    }
    return node;
  }

  private void refresh(Deadline deadline) throws InterruptedException {
    if (!refreshing.tryLock(Math.max(0, deadline.remainingNanos()), TimeUnit.NANOSECONDS)) {
      return;
    }
    try {
      Table old = table;
      if (suspect != old) {
        suspect = null;
        return;
      }
      if (time.nanoTime() - old.madeAt < PAUSE_NANOS) {
        return;
      }
      JedisException problem = null;
      List<PooledNode> witnesses = members.known();
      Collections.shuffle(witnesses);
      for (PooledNode node : witnesses) {
        try {
          List<?> answer = node.use(deadline.orIn(PATIENCE), true, false, Wire::slots);
          table = new Table(read(answer), time.nanoTime());
          suspect = null;
          return;
        } catch (JedisException e) {
          problem = e;
        }
        if (deadline.hasPassed()) {
          break;
        }
      }
      if (old.nodes.asMapOfRanges().isEmpty() && problem != null) {
        throw problem;
      }
    } finally {
      refreshing.unlock();
    }
  }

  // Per range of slots: first, last, and the nodes that have them, the primary first, each with
  // host and port before other things.
  private ImmutableRangeMap<Integer, PooledNode> read(List<?> answer) {
    Map<HostAndPort, PooledNode> nodes = new HashMap<>();
    Set<HostAndPort> addresses = new HashSet<>();
    ImmutableRangeMap.Builder<Integer, PooledNode> ranges = ImmutableRangeMap.builder();
    for (Object entry : answer) {
      List<?> range = (List<?>) entry;
      if (range.size() < 3) {
        continue;
      }
      range.subList(2, range.size()).forEach(node -> addresses.add(address((List<?>) node)));
      HostAndPort address = address((List<?>) range.get(2));
      ranges.put(
          Range.closed(((Long) range.get(0)).intValue(), ((Long) range.get(1)).intValue()),
          nodes.computeIfAbsent(address, members::at));
    }
    members.consistOf(addresses);
    return ranges.build();
  }

  private static HostAndPort address(List<?> node) {
    return new HostAndPort(Wire.text(node.get(0)), ((Long) node.get(1)).intValue());
  }
}
