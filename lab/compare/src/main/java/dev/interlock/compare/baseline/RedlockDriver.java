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
 * The calls of {@link RedisDriver} on several servers in parallel; the validity that is left is not
 * computed, and nothing is retried.
 */
public final class RedlockDriver implements BareDriver {
  private static final int MOST_THREADS = 64;

  /** For the service loader. */
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
    int callers = Math.min(MOST_THREADS, threads * nodes.size());
    return new Parallel(nodes, Executors.newFixedThreadPool(callers, RedlockDriver::thread));
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "bare-redlock");
    thread.setDaemon(true);
    return thread;
  }

  /** Servers that are all asked the same. */
  public interface Nodes extends AutoCloseable {

    /** {@return how many nodes there are} */
    int size();

    /**
     * Requests a name from every node once.
     *
     * @param owner who requests it
     * @return how many nodes granted it
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

  /** All nodes, and the threads that ask them. */
  public record Parallel(List<RedisDriver.Pool> nodes, ExecutorService callers)
      implements Session, Nodes {

    /** One round for the entry, one for the exit, each as long as its slowest node. */
    @Override
    public void pair(String name) throws Exception {
      String owner = UUID.randomUUID().toString();
      if (tryAcquire(name, owner) < nodes.size()) {
        throw new IllegalStateException(name + " is there already");
      }
      release(name, owner);
    }

    @Override
    public int size() {
      return nodes.size();
    }

    @Override
    public int tryAcquire(String name, String owner) throws Exception {
      return Collections.frequency(everywhere(node -> node.tryAcquire(name, owner)), true);
    }

    @Override
    public void release(String name, String owner) throws Exception {
      everywhere(
          node -> {
            node.release(name, owner);
            return true;
          });
    }

    private List<Boolean> everywhere(Predicate<RedisDriver.Pool> request) throws Exception {
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
