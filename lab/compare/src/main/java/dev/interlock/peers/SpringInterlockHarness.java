package dev.interlock.peers;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spring.integration.InterlockLockRegistry;
import dev.interlock.tck.Server;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Interlock behind Spring Integration's interface, with the adapter of Spring's registries. */
final class SpringInterlockHarness extends PeerHarness {

  SpringInterlockHarness() {
    super("Interlock's LockRegistry", Set.of(), Duration.ofMillis(200), Duration.ofMillis(20));
  }

  @Override
  String setUp() {
    return "`InterlockLockRegistry` of this version on one Redis, through the interfaces of Spring"
        + " Integration "
        + Versions.of("spring-integration-core")
        + " alone";
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
    return RedisStore.start(1, "interlock:{", "}");
  }

  @Override
  Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
    LockOptions options =
        LockOptions.builder()
            .ttl(terms.ttl())
            .autoRenew(terms.renewed())
            .requestTimeout(requestTimeout)
            .build();
    LockClient client = LockClient.open("redis://" + addresses.get(0), options);
    return new SpringPeer(new InterlockLockRegistry(client), terms, terms.renewed(), client);
  }
}
