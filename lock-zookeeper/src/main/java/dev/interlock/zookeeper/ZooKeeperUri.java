package dev.interlock.zookeeper;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.LockUri.Endpoint;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.security.auth.login.Configuration;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ClientX509Util;
import org.apache.zookeeper.common.PathUtils;
import org.apache.zookeeper.common.X509Util;

/**
 * What a URI says about an ensemble and how to reach it. Nothing is connected to here. What is
 * wrong is refused with a {@link LockConfigurationException}.
 */
final class ZooKeeperUri {

  private static final int ZOOKEEPER_PORT = 2181;

  private final LockUri uri;
  private final List<Endpoint> servers;
  private final String chroot;
  private final Optional<Duration> sessionTimeout;
  private final boolean tls;
  private final Optional<String> caCert;
  private final Optional<String> clientCert;
  private final Optional<String> otherPassword;
  private final boolean forAnyone;
  private final ZooKeeperSettings settings;

  ZooKeeperUri(LockUri uri) {
    this.uri = uri;
    this.servers = uri.endpoints(ZOOKEEPER_PORT);
    this.chroot = checkedChroot(uri.path());
    this.sessionTimeout = uri.duration("sessionTimeout");
    this.tls = uri.flag("tls").orElse(false);
    this.caCert = uri.text("caCert").map(file -> readable("caCert", file));
    this.clientCert = uri.text("clientCert").map(file -> readable("clientCert", file));
    this.otherPassword = uri.text("otherPassword");
    this.forAnyone = uri.text("access").map(this::isAnyone).orElse(false);
    ZooKeeperSettings.Builder settings = ZooKeeperSettings.builder();
    uri.text("namespace").ifPresent(settings::namespace);
    uri.duration("tickTime").ifPresent(settings::tickTime);
    this.settings = settings.build();
    if (!tls && (caCert.isPresent() || clientCert.isPresent())) {
      throw wrong("caCert and clientCert are for TLS; add tls=true");
    }
    if (uri.user().isPresent() != uri.password().isPresent()) {
      throw wrong("user and password come together; write user:password@host");
    }
    if (otherPassword.isPresent() && uri.user().isEmpty()) {
      throw wrong("otherPassword is a second password of a user; write user:password@host");
    }
    if (otherPassword.filter(String::isEmpty).isPresent()) {
      // Whoever knows the user's name could do with the locks what the user can.
      throw wrong("otherPassword is empty; leave it out when there is no second password");
    }
    requireLongEnough();
  }

  /** Refuses whatever has not been read. */
  void requireAllRead() {
    uri.requireAllRead();
  }

  ZooKeeperSettings settings() {
    return settings;
  }

  int servers() {
    return servers.size();
  }

  /** The addresses, for messages. */
  String endpoint() {
    return servers.stream().map(Endpoint::toString).collect(Collectors.joining(",")) + chroot;
  }

  /** The addresses as the driver takes them. */
  String connectString() {
    return endpoint();
  }

  /** User and passwords, as the digest scheme takes them; two while they are being changed. */
  List<String> logins() {
    return Stream.of(uri.password(), otherPassword)
        .flatMap(Optional::stream)
        .map(password -> uri.user().orElseThrow() + ":" + password)
        .toList();
  }

  /** Whether the locks that are made are for whoever the servers take us for, and nobody else. */
  boolean isForUserAlone() {
    return !forAnyone && (uri.user().isPresent() || hasCertificate() || isSaslConfigured());
  }

  /** Whether the URI gives one, or a system property of the driver's. */
  private boolean hasCertificate() {
    ZKClientConfig config = clientConfig(Duration.ofSeconds(1));
    try (X509Util names = new ClientX509Util()) {
      return config.getBoolean(ZKClientConfig.SECURE_CLIENT)
          && config.getProperty(names.getSslKeystoreLocationProperty()) != null;
    }
  }

  /** As the driver looks for it. */
  private static boolean isSaslConfigured() {
    ZKClientConfig config = new ZKClientConfig();
    if (!config.isSaslClientEnabled()) {
      return false;
    }
    String section =
        config.getProperty(
            ZKClientConfig.LOGIN_CONTEXT_NAME_KEY, ZKClientConfig.LOGIN_CONTEXT_NAME_KEY_DEFAULT);
    try {
      return Configuration.getConfiguration().getAppConfigurationEntry(section) != null;
    } catch (SecurityException | IllegalArgumentException e) {
      return false; // there is no configuration
    }
  }

  /**
   * The session time-out to ask the servers for: by default the client's TTL, so that its locks are
   * given up when their TTL is over and no later.
   */
  Duration sessionTimeout(Duration ttl) {
    Duration shortest = shortestSession();
    return sessionTimeout.orElse(ttl.compareTo(shortest) < 0 ? shortest : ttl);
  }

  private Duration shortestSession() {
    return settings.tickTime().multipliedBy(ZooKeeperTopology.TICKS_PER_SESSION);
  }

  private void requireLongEnough() {
    if (sessionTimeout.isPresent() && sessionTimeout.get().compareTo(shortestSession()) < 0) {
      throw wrong(
          "sessionTimeout must be at least four ticks, which is "
              + shortestSession().toMillis()
              + " ms; if the servers' tickTime is shorter, say so with tickTime=");
    }
  }

  ZKClientConfig clientConfig(Duration requestTimeout) {
    ZKClientConfig config = new ZKClientConfig();
    // Also bounds how long the driver says good-bye.
    config.setProperty(
        ZKClientConfig.ZOOKEEPER_REQUEST_TIMEOUT, Long.toString(requestTimeout.toMillis()));
    if (tls) {
      config.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
      config.setProperty(
          ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET,
          "org.apache.zookeeper.ClientCnxnSocketNetty");
      try (X509Util names = new ClientX509Util()) {
        caCert.ifPresent(
            file -> {
              config.setProperty(names.getSslTruststoreLocationProperty(), file);
              config.setProperty(names.getSslTruststoreTypeProperty(), "PEM");
            });
        clientCert.ifPresent(
            file -> {
              config.setProperty(names.getSslKeystoreLocationProperty(), file);
              config.setProperty(names.getSslKeystoreTypeProperty(), "PEM");
            });
      }
    }
    return config;
  }

  private String checkedChroot(String path) {
    if (path.isEmpty() || path.equals("/")) {
      return "";
    }
    try {
      PathUtils.validatePath(path);
    } catch (IllegalArgumentException e) {
      throw wrong("the path must be the node of a chroot, such as /app: " + e.getMessage());
    }
    return path;
  }

  private boolean isAnyone(String access) {
    return switch (access) {
      case "anyone" -> true;
      case "creator" -> false;
      default -> throw wrong("access must be creator or anyone");
    };
  }

  private String readable(String parameter, String file) {
    try {
      if (Files.isReadable(Path.of(file))) {
        return file;
      }
    } catch (InvalidPathException e) {
      // As if it were not there.
    }
    throw wrong("the file of " + parameter + ", \"" + file + "\", cannot be read");
  }

  private LockConfigurationException wrong(String problem) {
    return new LockConfigurationException(uri.scheme() + " URI: " + problem);
  }
}
