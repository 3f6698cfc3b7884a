package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.ContainerInstallation;
import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DeploymentBuilder;
import dev.interlock.testbed.server.Way;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The settings that all Redis deployments share. An endpoint that the user names is taken as it is,
 * so it is passed over as soon as one of them is made.
 *
 * @param <B> the type of this builder, returned by its own methods
 * @param <D> what {@link #start()} gives
 */
public abstract class RedisBuilder<B extends RedisBuilder<B, D>, D extends Deployment>
    extends DeploymentBuilder<B, D> {

  /** What becomes of the data when a server is killed and restarted. */
  public enum AppendOnly {
    /** Nothing is written: every restart is an empty one. Redis's own default. */
    OFF,
    /**
     * Written before every reply, and never forced to disk: survives a killed process. The default
     * here. (Redis's own, to force it every second, may keep back what it has replied to for as
     * long as a slow disk takes.)
     */
    WRITTEN,
    /** Forced to disk before every reply: survives a machine that loses power, too. */
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
   * Has the servers speak TLS, and nothing else, to clients and to each other. They share a
   * certificate for 127.0.0.1 that {@link Deployment#caCertificate()} tells clients to trust;
   * clients need none.
   */
  public final B tls() {
    this.tls = true;
    return self();
  }

  /**
   * Adds a user besides the default one, with an access control list.
   *
   * @param rules as the {@code user} directive takes them, for example {@code ~lock:* &* +@all}
   */
  public final B user(String name, String password, String rules) {
    if (!name.matches("[^\\s\"']+")) {
      throw new IllegalArgumentException(
          "a user's name must not be empty or hold blanks or quotes: \"" + name + "\"");
    }
    return config("user " + name + " on " + RedisConfig.quote(">" + password) + " " + rules);
  }

  /** Sets what is kept on disk; {@link AppendOnly#WRITTEN} by default. */
  public final B appendOnly(AppendOnly appendOnly) {
    this.appendOnly = appendOnly;
    return self();
  }

  /** The servers can be cut off from each other; those without peers then ask for a password. */
  final B separated() {
    separable = true;
    return password == null ? password("secret") : self();
  }

  final boolean isSeparable() {
    return separable;
  }

  /** What starts the servers by a way of our own. */
  final RedisNodes nodes(Way way) throws UnsuitableWayException {
    Installation program =
        switch (way) {
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
