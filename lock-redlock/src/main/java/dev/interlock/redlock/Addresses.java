package dev.interlock.redlock;

import dev.interlock.redis.server.DaemonThreads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;

/**
 * The addresses of the nodes of Jedis clients, for messages. A client does not say its address, but
 * its connections do, and so does the exception when it cannot connect.
 */
final class Addresses {

  private static final Pattern FAILED = Pattern.compile("Failed to connect to (\\S+?)\\.?");

  private Addresses() {}

  /** Connects to all nodes at once, within the limit, and disconnects again. */
  static List<String> of(List<Supplier<Connection>> nodes, Duration limit) {
    ExecutorService threads =
        DaemonThreads.several("interlock-redlock-opening", Math.max(1, nodes.size()), limit);
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
      return unknown; // a client with its own socket factory
    }
  }
}
