package dev.interlock.peers;

import dev.interlock.tck.Server;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** jetcd's {@code Lock}. */
final class JetcdHarness extends PeerHarness {

  JetcdHarness() {
    super("jetcd Lock", Set.of(), Duration.ofSeconds(2), Duration.ofSeconds(3));
  }

  @Override
  String setUp() {
    return "jetcd "
        + Versions.of("jetcd-core")
        + " on one etcd; an etcd lease for each acquisition, kept alive where it is to be renewed";
  }

  @Override
  Map<String, String> notOffered() {
    return Map.of(
        "WAIT-01", "an attempt that does not wait; the adapter gives up a wait after two seconds");
  }

  @Override
  Duration patience() {
    return Duration.ofSeconds(10);
  }

  @Override
  public Server start() {
    return EtcdStore.start();
  }

  @Override
  Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
    return new JetcdPeer(addresses);
  }
}
