package dev.interlock.storm.verdict;

import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.storm.workers.RunningTime;
import dev.interlock.testbed.etcd.EtcdServer;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.zookeeper.ZooKeeperServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What remains of a storm's locks on the store once no client holds or waits for them, as a client
 * shows it, and as the storm's own servers show it. The counters behind fencing tokens may remain.
 */
public final class Residue {
  private static final Duration LOOK = Duration.ofMillis(50);

  private Residue() {}

  /** Waits until nothing is left, at most for the limit; returns what is left. */
  public static List<String> await(
      LockClient client, @Nullable Deployment deployment, List<String> names, Duration limit)
      throws InterruptedException {
    RunningTime time = new RunningTime();
    while (true) {
      List<String> left = look(client, deployment, names);
      if (left.isEmpty() || !time.isWithin(limit)) {
        return left;
      }
      Thread.sleep(LOOK.toMillis());
    }
  }

  private static List<String> look(
      LockClient client, @Nullable Deployment deployment, List<String> names) {
    List<String> left = new ArrayList<>();
    for (String name : names) {
      try {
        LockState state = client.admin().inspect(name);
        if (state.isHeld() || !state.waiters().isEmpty()) {
          left.add(state.toString());
        }
      } catch (LockException e) {
        left.add("lock " + name + " cannot be inspected: " + e.getMessage());
      }
    }
    if (deployment != null) {
      for (DisposableServer server : deployment.members()) {
        try {
          for (String entry : entries(server)) {
            if (names.stream().anyMatch(entry::contains)) {
              left.add(server.name() + ": " + entry);
            }
          }
        } catch (IOException e) {
          left.add(server.name() + " cannot be inspected: " + e.getMessage());
        }
      }
    }
    return left;
  }

  /** Keys, nodes, watches and subscriptions, but for fences. */
  private static List<String> entries(DisposableServer server) throws IOException {
    List<String> entries = new ArrayList<>();
    if (server instanceof RedisServer redis) {
      if (redis.call("KEYS", "*") instanceof List<?> keys) { // a replica answers that, too
        keys.stream()
            .filter(key -> !key.toString().endsWith(":fence"))
            .forEach(key -> entries.add("key " + key));
      }
      if (redis.call("PUBSUB", "CHANNELS") instanceof List<?> channels) {
        channels.forEach(channel -> entries.add("subscription " + channel));
      }
    } else if (server instanceof EtcdServer etcd) {
      etcd.keys().keySet().forEach(key -> entries.add("key " + key));
    } else if (server instanceof ZooKeeperServer zookeeper) {
      for (String word : List.of("wchp", "dump")) {
        zookeeper
            .ask(word)
            .lines()
            .map(String::strip)
            .filter(line -> line.startsWith("/"))
            .forEach(line -> entries.add(word + " " + line));
      }
    }
    return entries;
  }
}
