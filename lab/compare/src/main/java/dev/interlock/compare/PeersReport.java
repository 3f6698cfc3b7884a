package dev.interlock.compare;

import dev.interlock.LockClient;
import dev.interlock.peers.Jars;
import dev.interlock.report.Machine;
import io.etcd.jetcd.Client;
import io.lettuce.core.RedisClient;
import java.lang.management.ManagementFactory;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.zookeeper.ZooKeeper;
import org.redisson.Redisson;
import org.springframework.integration.redis.util.RedisLockRegistry;
import redis.clients.jedis.UnifiedJedis;

/**
 * The Markdown report of {@code tools/bench peers}. Create it at the beginning of the run, whose
 * time it records.
 */
final class PeersReport {
  private final BenchProfile profile;
  private final Map<String, String> machine = new LinkedHashMap<>(Machine.describe());
  private final LocalDateTime began =
      LocalDateTime.now(ZoneId.systemDefault()).truncatedTo(ChronoUnit.MINUTES);
  private final List<Section> sections = new ArrayList<>();

  PeersReport(BenchProfile profile) {
    this.profile = profile;
  }

  void add(Section section) {
    sections.add(section);
  }

  String markdown() {
    StringBuilder text = new StringBuilder();
    sections.forEach(section -> text.append(section.markdown()).append('\n'));
    text.append("### The machine\n\n");
    facts().forEach((what, value) -> text.append("- " + what + ": " + value + "\n"));
    return text.toString();
  }

  private Map<String, String> facts() {
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("date", began.toString().replace('T', ' '));
    facts.put(
        "rounds",
        "%d, after a warm-up of at least %d, which ends when a contender has acquired %d locks"
            .concat(" and two rounds in a row agree, or after %d s; a round has %d ms of cycles")
            .concat(" or %d ms of contention; %d starts of clients")
            .formatted(
                profile.plan().rounds(),
                profile.plan().minWarmUps(),
                profile.plan().minLocks(),
                profile.plan().maxWarmUp().toSeconds(),
                profile.cycleSlice().toMillis(),
                profile.contentionSlice().toMillis(),
                profile.starts()));
    facts.putAll(machine);
    facts.put(
        "load at the end",
        String.format("%.2f", ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage()));
    sections.forEach(section -> facts.put(section.title(), section.servers()));
    facts.put("ours, and the drivers", jars(LockClient.class, UnifiedJedis.class, ZooKeeper.class));
    facts.put(
        "peers",
        jars(
            Redisson.class,
            RedisLockRegistry.class,
            RedisClient.class,
            InterProcessMutex.class,
            Client.class));
    return facts;
  }

  /** {@return the names of the jars of some classes, which include the versions} */
  private static String jars(Class<?>... types) {
    return Stream.of(types).map(Jars::of).collect(Collectors.joining(", "));
  }
}
