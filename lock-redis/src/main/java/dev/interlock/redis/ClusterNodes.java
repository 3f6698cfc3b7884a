package dev.interlock.redis;

import dev.interlock.redis.server.ClientClosedException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.PoolClosedException;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisAskDataException;
import redis.clients.jedis.exceptions.JedisClusterOperationException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisMovedDataException;
import redis.clients.jedis.exceptions.JedisRedirectionException;

/**
 * The primaries of a Redis Cluster.
 *
 * <p>Does not use Jedis's execution of cluster commands. Jedis repeats a request with pauses, for
 * 10 s by default, and asks its start nodes one after the other when a node has failed. This takes
 * too long for an attempt with a deadline. Here every step ends at the caller's deadline.
 */
final class ClusterNodes implements Nodes {

  private static final int MAX_STEPS = 5;
  private static final int MAX_THREADS = 16;

  /** The time-out of a node that did not answer the last request in time. */
  private static final Duration SILENT_NODE_TIMEOUT = Duration.ofMillis(100);

  private final ClusterMembers members;
  private final SlotTable table;
  private final ExecutorService threads =
      DaemonThreads.several("interlock-redis-cluster", MAX_THREADS, Duration.ofSeconds(10));

  /** The unanswered requests of nodes that did not answer in time. */
  private final Map<Connections, Future<?>> silent = new ConcurrentHashMap<>();

  ClusterNodes(ClusterMembers members, TimeSource time) {
    this.members = members;
    this.table = new SlotTable(members, time);
  }

  @Override
  public <T> T call(LockKeys keys, Deadline deadline, boolean repeatable, Talk<T> talk)
      throws InterruptedException {
    int slot = keys.slot();
    PooledNode node = table.node(slot, deadline);
    boolean asking = false;
    for (int step = 1; ; step++) {
      try {
        return node.use(deadline, repeatable, asking, talk);
      } catch (JedisRedirectionException e) {
        // The request was not executed. ASK redirects only this request, MOVED also all later ones.
        asking = e instanceof JedisAskDataException;
        suspectIfMoved(node, e);
        if (step == MAX_STEPS || deadline.hasPassed()) {
          throw new JedisClusterOperationException(
              "the nodes do not agree on which of them has slot " + slot);
        }
        node = members.at(e.getTargetNode());
      } catch (JedisDataException e) {
        suspectIfMoved(node, e);
        throw e;
      } catch (JedisConnectionException | PoolClosedException e) {
        table.suspect(node);
        boolean sent = !(e instanceof PoolClosedException);
        if (step == MAX_STEPS || deadline.hasPassed() || (sent && !repeatable)) {
          throw e;
        }
        PooledNode failed = node;
        node = table.node(slot, deadline);
        asking = false;
        if (node.pool().equals(failed.pool())) {
          throw !sent && members.known().isEmpty() ? new ClientClosedException(e) : e;
        }
      }
    }
  }

  @Override
  public <I> List<Object> callAll(
      List<I> items,
      Function<I, LockKeys> keys,
      Deadline deadline,
      Function<List<I>, Talk<List<Object>>> talk)
      throws InterruptedException {
    Object[] answers = new Object[items.size()];
    Map<PooledNode, List<Integer>> byNode = new LinkedHashMap<>();
    for (int i = 0; i < answers.length; i++) {
      try {
        PooledNode node = table.node(keys.apply(items.get(i)).slot(), deadline);
        byNode.computeIfAbsent(node, n -> new ArrayList<>()).add(i);
      } catch (JedisException e) {
        answers[i] = e;
      }
    }

    // At the same time, because a slow or dead node must not delay the others.
    Map<PooledNode, Future<List<Object>>> futures = new LinkedHashMap<>();
    byNode.forEach(
        (node, indexes) ->
            futures.put(
                node,
                submit(node, deadline, talk.apply(indexes.stream().map(items::get).toList()))));
    for (Map.Entry<PooledNode, Future<List<Object>>> group : futures.entrySet()) {
      PooledNode node = group.getKey();
      List<Integer> indexes = byNode.getOrDefault(node, List.of());
      List<Object> some = await(node, group.getValue(), indexes.size(), deadline);
      for (int i = 0; i < some.size(); i++) {
        suspectIfMoved(node, some.get(i));
        answers[indexes.get(i)] = some.get(i);
      }
    }

    for (int i = 0; i < answers.length; i++) {
      if (answers[i] instanceof JedisRedirectionException) {
        I item = items.get(i);
        answers[i] = callAlone(keys.apply(item), deadline, talk.apply(List.of(item)));
      }
    }
    return Arrays.asList(answers);
  }

  /** Talks to a node. A silent node gets one request at a time; others fail at once. */
  private Future<List<Object>> submit(PooledNode node, Deadline deadline, Talk<List<Object>> talk) {
    Connections pool = node.pool();
    Future<?> last = silent.get(pool);
    if (last != null && !last.isDone()) {
      return CompletableFuture.failedFuture(
          new JedisClusterOperationException("the node has not answered the last request yet"));
    }
    Future<List<Object>> answers =
        threads.submit(
            () -> {
              List<Object> all = node.use(deadline, true, false, talk);
              silent.remove(pool);
              return all;
            });
    if (last != null) {
      silent.replace(pool, last, answers);
    }
    return answers;
  }

  private List<Object> await(
      PooledNode node, Future<List<Object>> answers, int count, Deadline deadline)
      throws InterruptedException {
    Deadline limit =
        silent.containsKey(node.pool()) ? deadline.atMost(SILENT_NODE_TIMEOUT) : deadline;
    RuntimeException problem;
    boolean late = false;
    try {
      return answers.get(Math.max(1, limit.remainingNanos()), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      problem =
          e.getCause() instanceof RuntimeException failure
              ? failure
              : new JedisClusterOperationException(e.getCause());
    } catch (TimeoutException e) {
      problem = new JedisClusterOperationException("the node did not answer in time", e);
      late = true;
    }
    if (late || Failures.isTimeout(problem)) {
      silent.putIfAbsent(node.pool(), answers);
      silent.keySet().removeIf(Connections::isClosed); // of nodes that have left the cluster
    }
    table.suspect(node);
    return Collections.nCopies(count, problem);
  }

  private void suspectIfMoved(PooledNode node, Object answer) {
    if (answer instanceof JedisMovedDataException
        || (answer instanceof JedisDataException e && Failures.isOutOfService(e))) {
      table.suspect(node);
    }
  }

  private Object callAlone(LockKeys keys, Deadline deadline, Talk<List<Object>> talk)
      throws InterruptedException {
    try {
      return call(
          keys,
          deadline,
          true,
          wire -> {
            Object answer = talk.over(wire).get(0);
            if (answer instanceof JedisRedirectionException elsewhere) {
              throw elsewhere;
            }
            return answer;
          });
    } catch (JedisException e) {
      return e;
    }
  }

  /**
   * The cursor consists of the cluster's layout, a slot of the scanned node, and the node's cursor.
   */
  @Override
  public Keys scan(String pattern, @Nullable String cursor, int count, Deadline deadline)
      throws InterruptedException {
    String[] parts = cursor == null ? new String[0] : cursor.split("/", -1);
    int slot = cursor == null ? 0 : Integer.parseInt(parts[1]);
    String layout;
    PooledNode node;
    do {
      layout = table.layout();
      node = table.node(slot, deadline);
    } while (!layout.equals(table.layout()));
    if (cursor != null && !parts[0].equals(layout)) {
      throw new JedisClusterOperationException(
          "the nodes of the cluster may have changed since the listing began; start it again");
    }
    Keys found;
    try {
      String own = cursor == null || parts[2].isEmpty() ? null : parts[2];
      found = node.scan(pattern, own, count, deadline);
    } catch (JedisConnectionException | PoolClosedException e) {
      table.suspect(node);
      throw e;
    } catch (JedisDataException e) {
      suspectIfMoved(node, e);
      throw e;
    }
    if (found.next() != null) {
      return new Keys(found.keys(), layout + "/" + slot + "/" + found.next());
    }
    OptionalInt next = table.slotOfNextNode(slot);
    return new Keys(found.keys(), next.isEmpty() ? null : layout + "/" + next.getAsInt() + "/");
  }

  @Override
  public Connection dedicated() {
    JedisException problem = new JedisClusterOperationException("the cluster has no nodes");
    List<PooledNode> nodes = members.known();
    Collections.shuffle(nodes);
    for (PooledNode node : nodes) {
      try {
        return node.pool().dedicated();
      } catch (JedisException e) {
        problem = e;
      }
    }
    throw problem;
  }

  @Override
  public void close() {
    threads.shutdown();
    members.close();
  }
}
