package dev.interlock.testbed.redis;

import dev.interlock.testbed.server.Deployment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** What all deployments of several Redis servers say of themselves. */
abstract class RedisDeployment implements Deployment {
  final RedisGroup group;

  RedisDeployment(RedisGroup group) {
    this.group = group;
  }

  @Override
  public String uri() {
    return group.uri();
  }

  @Override
  public final String version() {
    return group.version();
  }

  @Override
  public final String how() {
    return group.how();
  }

  @Override
  public final Optional<Path> caCertificate() {
    return group.caCertificate();
  }

  @Override
  public List<RedisServer> members() {
    return group.members();
  }

  /** The servers' addresses and origin; no password. */
  @Override
  public String toString() {
    return group.toString();
  }
}
