package dev.interlock.redlock;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Where the nodes of Jedis clients are, for messages. A client does not tell, but its connections
 * do, and also the exception when none can be made.
 */
final class Addresses {

  private static final Pattern FAILED = Pattern.compile("Failed to connect to (\\S+?)\\.?");

  private Addresses() {}

  /** Connects to all nodes at once, and disconnects again; does not wait for longer than that. */
  static List<String> of(List<Supplier<Connection>> nodes, Duration limit) {
    ExecutorService threads =
        Executors.newCachedThreadPool(
            new ThreadFactoryBuilder()
                .setDaemon(true)
                .setNameFormat("interlock-redlock-opening")
                .build());
    try {
      List<CompletableFuture<String>> answers = new ArrayList<>();
      for (Supplier<Connection> node : nodes) {
        String unknown = "node " + (answers.size() + 1);
        answers.add(
            CompletableFuture.supplyAsync(() -> of(node, unknown), threads)
                .completeOnTimeout(unknown, limit.toMillis(), TimeUnit.MILLISECONDS));
      }
      return answers.stream().map(CompletableFuture::join).toList();
    } finally {
      threads.shutdown();
    }
  }

  private static String of(Supplier<Connection> node, String unknown) {
    try (Connection connection = node.get()) {
      return connection.getHostAndPort().toString();
    } catch (JedisException e) {
      Matcher failed = FAILED.matcher(String.valueOf(e.getMessage()));
      return failed.matches() ? failed.group(1) : unknown;
    } catch (ClassCastException e) {
      return unknown; // the client makes its sockets in a way of its own
    }
  }
}
