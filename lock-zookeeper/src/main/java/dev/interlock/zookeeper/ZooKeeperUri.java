package dev.interlock.zookeeper;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.LockUri.Endpoint;
import dev.interlock.spi.UriParameter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.security.auth.login.Configuration;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.PathUtils;
import org.apache.zookeeper.common.ZKConfig;

/**
 * The settings in a URI for an ensemble. The constructor connects to nothing, and throws {@link
 * LockConfigurationException} if the URI cannot work.
 */
final class ZooKeeperUri {

  private static final int ZOOKEEPER_PORT = 2181;

  private static final UriParameter<String> NAMESPACE =
      UriParameter.text(
          "namespace",
          "interlock",
          "The parent node of all locks. Clients that share locks must use the same.");

  private static final int MAX_REPLY_BYTES = 64 * 1024 * 1024;

  private static final String KEY_STORE = "zookeeper.ssl.keyStore.";
  private static final String TRUST_STORE = "zookeeper.ssl.trustStore.";

  private static final UriParameter<Duration> SESSION_TIMEOUT =
      UriParameter.duration(
          "sessionTimeout",
          "the TTL",
          "How long the servers keep the locks of a client that they no longer hear from. The"
              + " servers may raise it, as Lease.effectiveTtl() shows, or lower it, which the client"
              + " logs as a warning.");

  private static final UriParameter<Duration> TICK_TIME =
      UriParameter.duration(
          "tickTime",
          "2s, or three tenths of the session's time-out if that is less",
          "The tickTime of the servers, which do not report it to clients. Must be at least six"
              + " tenths of the real value.");

  private static final UriParameter<Boolean> FOR_ANYONE =
      UriParameter.of(
          "access",
          "creator or anyone",
          "creator",
          "Who may use the locks of a client that logs in with a password, a certificate or SASL:"
              + " that user alone (creator), or everybody who can connect (anyone). Clients that"
              + " share locks but have different certificates need anyone.",
          ZooKeeperUri::isAnyone);

  private static final UriParameter<String> OTHER_PASSWORD =
      UriParameter.secret(
          "otherPassword",
          "A second password of the user, while the password is being changed: the client logs in"
              + " with both, and both may use its locks.");

  private static final UriParameter<Boolean> TLS =
      UriParameter.flag("tls", false, "Whether connections are encrypted.");

  private static final UriParameter<Path> CA_CERT =
      UriParameter.file(
          "caCert",
          "the JVM's authorities",
          "With TLS: a PEM file with the authorities to trust in place of the JVM's.");

  private static final UriParameter<Path> CLIENT_CERT =
      UriParameter.file(
          "clientCert",
          null,
          "With TLS: a PEM file with the client's own key and certificates, which servers ask for"
              + " by default.");

  static final List<UriParameter<?>> PARAMETERS =
      List.of(
          NAMESPACE,
          SESSION_TIMEOUT,
          TICK_TIME,
          FOR_ANYONE,
          TLS,
          CA_CERT,
          CLIENT_CERT,
          LockUri.PASSWORD,
          OTHER_PASSWORD);

  private final LockUri uri;
  private final List<Endpoint> servers;
  private final String chroot;
  private final Optional<Duration> sessionTimeout;
  private final boolean tls;
  private final Optional<Path> caCert;
  private final Optional<Path> clientCert;
  private final boolean forAnyone;
  private final ZooKeeperSettings settings;

  ZooKeeperUri(LockUri uri) {
    this.uri = uri;
    this.servers = uri.endpoints(ZOOKEEPER_PORT);
    this.chroot = checkedChroot(uri.path());
    this.sessionTimeout = uri.get(SESSION_TIMEOUT);
    this.tls = uri.get(TLS).orElse(false);
    this.caCert = uri.get(CA_CERT);
    this.clientCert = uri.get(CLIENT_CERT);
    this.forAnyone = uri.get(FOR_ANYONE).orElse(false);
    ZooKeeperSettings.Builder settings = ZooKeeperSettings.builder();
    uri.get(NAMESPACE).ifPresent(settings::namespace);
    uri.get(TICK_TIME).ifPresent(settings::tickTime);
    this.settings = settings.build();
    if (!tls && (caCert.isPresent() || clientCert.isPresent())) {
      throw wrong("caCert and clientCert are for TLS; add tls=true");
    }
    if (uri.user().isPresent() != uri.password().isPresent()) {
      throw wrong("user and password belong together; write user:password@host");
    }
    Optional<String> otherPassword = uri.get(OTHER_PASSWORD);
    if (otherPassword.isPresent() && uri.user().isEmpty()) {
      throw wrong("otherPassword is a second password of a user; write user:password@host");
    }
    if (otherPassword.filter(String::isEmpty).isPresent()) {
      // With an empty password, everyone who knows the user's name would have the user's rights.
      throw wrong("otherPassword is empty; leave it out when there is no second password");
    }
    Duration min = this.settings.minSessionTimeout();
    if (sessionTimeout.isPresent() && sessionTimeout.get().compareTo(min) < 0) {
      throw wrong("sessionTimeout must be at least " + this.settings.describeMinSessionTimeout());
    }
  }

  ZooKeeperSettings settings() {
    return settings;
  }

  int servers() {
    return servers.size();
  }

  /** The addresses and the chroot in the driver's form, which also serves in messages. */
  String endpoint() {
    return servers.stream().map(Endpoint::toString).collect(Collectors.joining(",")) + chroot;
  }

  /**
   * Reads the logins for the digest scheme, each as {@code user:password}; there are two while the
   * password is being changed.
   */
  List<String> logins() {
    return Stream.of(uri.password(), uri.get(OTHER_PASSWORD))
        .flatMap(Optional::stream)
        .map(password -> uri.user().orElseThrow() + ":" + password)
        .toList();
  }

  /**
   * Whether only the user whom the servers authenticate may use the locks that this client creates.
   */
  boolean isForUserAlone() {
    return !forAnyone && (uri.user().isPresent() || hasCertificate() || isSaslConfigured());
  }

  /** Whether the URI, or a system property of the driver, gives a client certificate. */
  private boolean hasCertificate() {
    ZKClientConfig config = clientConfig(Duration.ofSeconds(1));
    return config.getBoolean(ZKClientConfig.SECURE_CLIENT)
        && config.getProperty(KEY_STORE + "location") != null;
  }

  private static boolean isSaslConfigured() {
    ZKClientConfig config = new ZKClientConfig();
    return config.isSaslClientEnabled() && hasSaslSection(config);
  }

  /** Whether there is a SASL configuration, which is looked up as the driver does. */
  private static boolean hasSaslSection(ZKClientConfig config) {
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
   * The session time-out to request: by default the client's TTL, so that the servers release its
   * locks as soon as their TTL is over.
   */
  Duration sessionTimeout(Duration ttl) {
    Duration min = settings.minSessionTimeout();
    return sessionTimeout.orElse(ttl.compareTo(min) < 0 ? min : ttl);
  }

  ZKClientConfig clientConfig(Duration requestTimeout) {
    ZKClientConfig config = new ZKClientConfig();
    // One reply contains the names of all locks or waiters, and servers send replies of any length.
    if (config.getProperty(ZKConfig.JUTE_MAXBUFFER) == null) {
      config.setProperty(ZKConfig.JUTE_MAXBUFFER, Integer.toString(MAX_REPLY_BYTES));
    }
    // The request time-out also limits the time that the driver takes to close.
    config.setProperty(
        ZKClientConfig.ZOOKEEPER_REQUEST_TIMEOUT, Long.toString(requestTimeout.toMillis()));
    // For SASL, the driver looks up the server's canonical name before each connection, and waits
    // for as long as that takes. Not even loopback addresses have a name everywhere. SASL stays
    // enabled if a named file or section is missing, so that the driver reports it.
    if (config.getJaasConfKey() == null
        && config.getProperty(ZKClientConfig.LOGIN_CONTEXT_NAME_KEY) == null
        && !hasSaslSection(config)) {
      config.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, "false");
    }
    if (tls) {
      config.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
      config.setProperty(
          ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET,
          "org.apache.zookeeper.ClientCnxnSocketNetty");
      caCert.ifPresent(file -> setPem(config, TRUST_STORE, file));
      clientCert.ifPresent(file -> setPem(config, KEY_STORE, file));
    }
    return config;
  }

  private static void setPem(ZKClientConfig config, String store, Path file) {
    config.setProperty(store + "location", file.toString());
    config.setProperty(store + "type", "PEM");
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

  private static boolean isAnyone(String access) {
    return switch (access) {
      case "anyone" -> true;
      case "creator" -> false;
      default -> throw new IllegalArgumentException("must be creator or anyone");
    };
  }

  private LockConfigurationException wrong(String problem) {
    return new LockConfigurationException(uri.scheme() + " URI: " + problem);
  }
}
