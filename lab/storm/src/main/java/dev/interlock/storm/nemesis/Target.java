package dev.interlock.storm.nemesis;

import dev.interlock.BackendInfo;
import dev.interlock.storm.workers.Client;
import dev.interlock.tck.run.Kit;
import dev.interlock.testbed.server.Deployment;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The target of a storm.
 *
 * @param kit opens clients
 * @param uri the URI of the store without proxies; may contain passwords, so not for messages
 * @param deployment the servers; null if the storm has not started them, so no fault may hit them
 * @param clients the storm's own clients
 * @param names the names of their locks
 * @param ttl the TTL of their leases
 */
public record Target(
    Kit kit,
    String uri,
    @Nullable Deployment deployment,
    List<Client> clients,
    List<String> names,
    Duration ttl) {

  /** {@return the backend's declarations} */
  BackendInfo info() {
    return kit.info();
  }
}
