package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.ContainerInstallation;
import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DeploymentBuilder;
import dev.interlock.testbed.server.ServerSource;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The settings of all Redis deployments. A named endpoint cannot be configured, so it is used only
 * if none of these settings is made.
 *
 * @param <B> the type of this builder, returned by its own methods
 * @param <D> the type of the deployment
 */
public abstract class RedisBuilder<B extends RedisBuilder<B, D>, D extends Deployment>
    extends DeploymentBuilder<B, D> {

  /** The persistence of data when a server is killed and restarted. */
  public enum AppendOnly {
    /** Nothing is written, so every restart is empty. Redis's own default. */
    OFF,
    /**
     * Written before every reply, but never forced to disk: survives a killed process. The default
     * here. (Redis's own default forces it every second, and may delay replies while a disk is
     * slow.)
     */
    WRITTEN,
    /** Forced to disk before every reply: also survives a power failure. */
    ALWAYS
  }

  private AppendOnly appendOnly = AppendOnly.WRITTEN;
  private @Nullable String password;
  private boolean tls;
  private boolean separable;

  RedisBuilder(String kind, String setting) {
    super(kind, setting);
  }

  /** Sets the password of the default user ({@code requirepass}). By default there is none. */
  public final B password(String password) {
    this.password = RedisConfig.quotable(password);
    return self();
  }

  /**
   * Makes the servers speak only TLS, to clients and to each other. They share a certificate for
   * 127.0.0.1; see {@link Deployment#caCertificate()}. Clients need no certificate.
   */
  public final B tls() {
    this.tls = true;
    return self();
  }

  /**
   * Adds a user besides the default one, with an access control list.
   *
   * @param rules the rules in the form of the {@code user} directive, for example {@code ~lock:* &*
   *     +@all}
   */
  public final B user(String name, String password, String rules) {
    if (!name.matches("[^\\s\"']+")) {
      throw new IllegalArgumentException(
          "a user's name must not be empty or contain blanks or quotes: \"" + name + "\"");
    }
    return config("user " + name + " on " + RedisConfig.quote(">" + password) + " " + rules);
  }

  /** Sets the persistence of data; {@link AppendOnly#WRITTEN} by default. */
  public final B appendOnly(AppendOnly appendOnly) {
    this.appendOnly = appendOnly;
    return self();
  }

  /** Makes it possible to cut servers off from each other. Clients then need a password. */
  final B makeSeparable() {
    separable = true;
    return password == null ? password("secret") : self();
  }

  final boolean isSeparable() {
    return separable;
  }

  /** {@return the starter of servers, from a source other than a named endpoint} */
  final RedisNodes nodes(ServerSource source) throws UnsuitableSourceException {
    Installation program =
        switch (source) {
          case BINARY -> BinaryInstallation.find("redis-server", "interlock.redis.binary");
          case DOCKER ->
              ContainerInstallation.find("redis-server", "interlock.redis.image", "redis:7.2");
          case EMBEDDED -> EmbeddedRedis.find();
          case ENDPOINT -> throw new IllegalArgumentException("an endpoint is not a program");
        };
    RedisConfig config = new RedisConfig(appendOnly, password, tls, separable, List.copyOf(extra));
    return new RedisNodes(program, config);
  }

  @Override
  protected boolean isConfigured() {
    return appendOnly != AppendOnly.WRITTEN || password != null || tls || !extra.isEmpty();
  }
}
