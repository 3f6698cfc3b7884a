package dev.interlock.compare.baseline;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;

/**
 * The calls of {@link RedisDriver} on several servers in parallel. It computes no validity and
 * retries nothing.
 */
public final class RedlockDriver implements BareDriver {
  private static final int MAX_THREADS = 64;

  /** Used by {@link java.util.ServiceLoader}. */
  public RedlockDriver() {}

  @Override
  public Set<String> schemes() {
    return Set.of("redlock");
  }

  @Override
  public String summary() {
    return "on all nodes in parallel: SET NX PX, then EVALSHA that deletes its own value, on pools"
        + " of Jedis connections";
  }

  @Override
  public Parallel open(String uri, int threads) {
    List<RedisDriver.Pool> nodes = RedisDriver.openAll(uri, threads);
    int callers = Math.min(MAX_THREADS, threads * nodes.size());
    return new Parallel(nodes, Executors.newFixedThreadPool(callers, RedlockDriver::thread));
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "bare-redlock");
    thread.setDaemon(true);
    return thread;
  }

  /** Redis servers that all receive the same requests. */
  public interface Nodes extends AutoCloseable {

    /** {@return the number of nodes} */
    int size();

    /**
     * Requests a name once from every node.
     *
     * @param owner the value for the key, unique for each request
     * @return the number of nodes that granted it
     * @throws Exception if one of them fails
     */
    int tryAcquire(String name, String owner) throws Exception;

    /**
     * Releases a name on every node that granted it.
     *
     * @throws Exception if one of them fails
     */
    void release(String name, String owner) throws Exception;
  }

  /** Nodes that are asked in parallel by a pool of threads. */
  public record Parallel(List<RedisDriver.Pool> nodes, ExecutorService callers)
      implements Session, Nodes {

    /** Acquires and releases a name in two rounds, each of which waits for all nodes. */
    @Override
    public void cycle(String name) throws Exception {
      String owner = UUID.randomUUID().toString();
      if (tryAcquire(name, owner) < nodes.size()) {
        throw new IllegalStateException(name + " is already held on a node");
      }
      release(name, owner);
    }

    @Override
    public int size() {
      return nodes.size();
    }

    @Override
    public int tryAcquire(String name, String owner) throws Exception {
      return Collections.frequency(onAllNodes(node -> node.tryAcquire(name, owner)), true);
    }

    @Override
    public void release(String name, String owner) throws Exception {
      onAllNodes(
          node -> {
            node.release(name, owner);
            return true;
          });
    }

    private List<Boolean> onAllNodes(Predicate<RedisDriver.Pool> request) throws Exception {
      List<Future<Boolean>> calls = new ArrayList<>();
      for (RedisDriver.Pool node : nodes) {
        calls.add(callers.submit(() -> request.test(node)));
      }
      List<Boolean> answers = new ArrayList<>();
      for (Future<Boolean> call : calls) {
        answers.add(call.get());
      }
      return answers;
    }

    @Override
    public long storedKeys() {
      return nodes.stream().mapToLong(RedisDriver.Pool::storedKeys).sum();
    }

    @Override
    public void close() {
      callers.shutdownNow();
      nodes.forEach(RedisDriver.Pool::close);
    }
  }
}
