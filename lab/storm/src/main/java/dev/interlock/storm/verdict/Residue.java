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
 * Finds what remains of a storm's locks on the store when no client holds or waits for them. It
 * asks a client, and the storm's own servers. The counters for fencing tokens may remain.
 */
public final class Residue {
  private static final Duration POLL_INTERVAL = Duration.ofMillis(50);

  private Residue() {}

  /** Waits until there is no residue, or the limit is over; returns the residue. */
  public static List<String> await(
      LockClient client, @Nullable Deployment deployment, List<String> names, Duration limit)
      throws InterruptedException {
    RunningTime time = new RunningTime();
    while (true) {
      List<String> residue = find(client, deployment, names);
      if (residue.isEmpty() || !time.isWithin(limit)) {
        return residue;
      }
      Thread.sleep(POLL_INTERVAL.toMillis());
    }
  }

  private static List<String> find(
      LockClient client, @Nullable Deployment deployment, List<String> names) {
    List<String> residue = new ArrayList<>();
    for (String name : names) {
      try {
        LockState state = client.admin().inspect(name);
        if (state.isHeld() || !state.waiters().isEmpty()) {
          residue.add(state.toString());
        }
      } catch (LockException e) {
        residue.add("lock " + name + " cannot be inspected: " + e.getMessage());
      }
    }
    if (deployment != null) {
      for (DisposableServer server : deployment.members()) {
        try {
          for (String entry : entries(server)) {
            if (names.stream().anyMatch(entry::contains)) {
              residue.add(server.name() + ": " + entry);
            }
          }
        } catch (IOException e) {
          residue.add(server.name() + " cannot be inspected: " + e.getMessage());
        }
      }
    }
    return residue;
  }

  /** Lists keys, nodes, watches and subscriptions, without fences. */
  private static List<String> entries(DisposableServer server) throws IOException {
    List<String> entries = new ArrayList<>();
    if (server instanceof RedisServer redis) {
      if (redis.call("KEYS", "*") instanceof List<?> keys) { // a replica answers this as well
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
      for (String command : List.of("wchp", "dump")) {
        zookeeper
            .ask(command)
            .lines()
            .map(String::strip)
            .filter(line -> line.startsWith("/"))
            .forEach(line -> entries.add(command + " " + line));
      }
    }
    return entries;
  }
}
