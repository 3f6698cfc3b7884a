package dev.interlock.redlock;

import com.google.common.util.concurrent.Uninterruptibles;
import dev.interlock.spi.DaemonThreads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Finds the addresses of Jedis clients, for messages. A client does not tell its address, but its
 * connections do, and so does the exception when it cannot connect.
 */
final class Addresses {

  private static final Pattern FAILED = Pattern.compile("Failed to connect to (\\S+?)\\.?");

  private Addresses() {}

  /** Returns the addresses. Connects to all nodes at the same time, and disconnects again. */
  static List<String> of(List<Supplier<Connection>> nodes, Duration limit) {
    ExecutorService threads =
        DaemonThreads.several("interlock-redlock-opening", Math.max(1, nodes.size()), limit);
    try {
      List<CompletableFuture<String>> answers = new ArrayList<>();
      for (Supplier<Connection> node : nodes) {
        String unknown = unknown(answers.size());
        answers.add(CompletableFuture.supplyAsync(() -> of(node, unknown), threads));
      }
      awaitAll(answers, limit);
      List<String> addresses = new ArrayList<>();
      for (CompletableFuture<String> answer : answers) {
        addresses.add(answer.getNow(unknown(addresses.size())));
      }
      return addresses;
    } finally {
      threads.shutdown();
    }
  }

  private static void awaitAll(List<CompletableFuture<String>> answers, Duration limit) {
    try {
      CompletableFuture<?>[] all = answers.toArray(new CompletableFuture<?>[0]);
      Uninterruptibles.getUninterruptibly(CompletableFuture.allOf(all), limit);
    } catch (ExecutionException | TimeoutException e) {
      // The answers are read one by one.
    }
  }

  private static String unknown(int node) {
    return "node " + (node + 1);
  }

  private static String of(Supplier<Connection> node, String unknown) {
    try (Connection connection = node.get()) {
      return connection.getHostAndPort().toString();
    } catch (JedisException e) {
      Matcher message = FAILED.matcher(String.valueOf(e.getMessage()));
      return message.matches() ? message.group(1) : unknown;
    } catch (ClassCastException e) {
      return unknown; // a client with its own socket factory
    }
  }
}
