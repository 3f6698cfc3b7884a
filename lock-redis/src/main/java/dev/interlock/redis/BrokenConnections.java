package dev.interlock.redis;

import dev.interlock.spi.DaemonThreads;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.Pool;

/**
 * Returns broken connections to pools that are not ours. Such a pool reconnects at once, on the
 * thread that returns the broken one (commons-pool since 2.12), so a caller would wait for a dead
 * server a second time. Our threads do that instead; they end when there is nothing to do.
 */
final class BrokenConnections implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(BrokenConnections.class);
  private static final int MOST_THREADS = 8;

  private final ExecutorService threads =
      DaemonThreads.several("interlock-redis-broken", MOST_THREADS, Duration.ofSeconds(2));

  void giveBack(Pool<Connection> pool, Connection connection) {
    try {
      connection.forceDisconnect();
    } catch (IOException e) {
      log.debug("could not close a broken connection", e);
    }
    Runnable task =
        () -> {
          try {
            pool.returnBrokenResource(connection);
          } catch (RuntimeException e) {
            log.debug("the pool could not replace a broken connection", e);
          }
        };
    try {
      threads.execute(task);
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // Closed, or no thread can be created.
      task.run();
    }
  }

  @Override
  public void close() {
    threads.shutdown();
  }
}
