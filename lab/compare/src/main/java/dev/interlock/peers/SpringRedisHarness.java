package dev.interlock.peers;

import dev.interlock.tck.Server;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** Spring Integration's {@code RedisLockRegistry}. */
final class SpringRedisHarness extends PeerHarness {
  private static final String REGISTRY = "spring";

  SpringRedisHarness() {
    super("Spring RedisLockRegistry", Set.of(), Duration.ofMillis(200), Duration.ofMillis(20));
  }

  @Override
  String setUp() {
    return "Spring Integration "
        + Versions.of("spring-integration-redis")
        + " with Lettuce "
        + Versions.of("lettuce-core")
        + " on one Redis; spin locks, with a renewalTaskScheduler where leases are to be renewed";
  }

  @Override
  Map<String, String> notOffered() {
    return ThreadOwned.RULES;
  }

  @Override
  Duration patience() {
    return Duration.ofSeconds(5);
  }

  @Override
  public Server start() {
    return RedisStore.start(1, REGISTRY + ":");
  }

  @Override
  Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
    String[] address = addresses.get(0).split(":", 2);
    LettuceConnectionFactory connections =
        new LettuceConnectionFactory(
            new RedisStandaloneConfiguration(address[0], Integer.parseInt(address[1])),
            LettuceClientConfiguration.builder().commandTimeout(requestTimeout).build());
    connections.afterPropertiesSet();
    connections.start();
    RedisLockRegistry registry =
        new RedisLockRegistry(connections, REGISTRY, terms.ttl().toMillis());
    ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
    scheduler.setDaemon(true);
    scheduler.initialize();
    if (terms.renewed()) {
      registry.setRenewalTaskScheduler(scheduler);
    }
    return new SpringPeer(
        registry,
        terms,
        terms.renewed(),
        () -> {
          registry.destroy();
          scheduler.shutdown();
          connections.destroy();
        });
  }
}
