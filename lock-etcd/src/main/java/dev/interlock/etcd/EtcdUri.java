package dev.interlock.etcd;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The settings in a URI for a cluster. The constructor connects to nothing, and throws {@link
 * LockConfigurationException} if the URI cannot work.
 */
final class EtcdUri {

  private static final int PORT = 2379;
  private static final String TLS_SCHEME = "etcds";

  private static final UriParameter<String> NAMESPACE =
      UriParameter.text(
          "namespace",
          "interlock",
          "The prefix of every key, before a slash. Clients that share locks must use the same.");

  private static final UriParameter<Path> CA_CERT =
      UriParameter.file(
          "caCert",
          "the JVM's authorities",
          "With TLS: a PEM file with the authorities to trust in place of the JVM's.");

  private static final UriParameter<Path> CLIENT_CERT =
      UriParameter.file(
          "clientCert", null, "With TLS: a PEM file with the client's own certificate.");

  private static final UriParameter<Path> CLIENT_KEY =
      UriParameter.file(
          "clientKey",
          null,
          "With TLS: a PEM file with the private key of clientCert (PKCS #8, without a password).");

  static final List<UriParameter<?>> PARAMETERS =
      List.of(NAMESPACE, CA_CERT, CLIENT_CERT, CLIENT_KEY, LockUri.PASSWORD);

  private final LockUri uri;
  private final List<LockUri.Endpoint> endpoints;
  private final EtcdSettings settings;
  private final @Nullable ClientTls ssl;

  EtcdUri(LockUri uri) {
    this.uri = uri;
    this.endpoints = uri.endpoints(PORT);
    EtcdSettings.Builder settings = EtcdSettings.builder();
    uri.get(NAMESPACE).ifPresent(settings::namespace);
    this.settings = settings.build();
    this.ssl = tlsContext();
    if (!uri.path().isEmpty() && !uri.path().equals("/")) {
      throw wrong("takes no path; set the key prefix with ?namespace=");
    }
    if (uri.user().isPresent() != uri.password().isPresent()) {
      throw wrong("user and password belong together; write user:password@host");
    }
  }

  private @Nullable ClientTls tlsContext() {
    Optional<Path> authorities = uri.get(CA_CERT);
    Optional<Path> certificate = uri.get(CLIENT_CERT);
    Optional<Path> key = uri.get(CLIENT_KEY);
    if (!uri.scheme().equals(TLS_SCHEME)) {
      if (authorities.isPresent() || certificate.isPresent() || key.isPresent()) {
        throw wrong("caCert, clientCert and clientKey are for TLS; write " + TLS_SCHEME + "://");
      }
      return null;
    }
    if (certificate.isPresent() != key.isPresent()) {
      throw wrong("clientCert and clientKey belong together");
    }
    try {
      return new ClientTls(authorities, certificate, key);
    } catch (IOException | GeneralSecurityException e) {
      throw new LockConfigurationException(
          uri.scheme()
              + " URI: caCert and clientCert must be files with X.509 certificates in PEM form,"
              + " and clientKey one with a private key in PKCS #8 form without a password: "
              + e.getMessage(),
          e);
    }
  }

  private LockConfigurationException wrong(String why) {
    return new LockConfigurationException(uri.scheme() + " URI: " + why);
  }

  EtcdSettings settings() {
    return settings;
  }

  int endpointCount() {
    return endpoints.size();
  }

  /** The addresses, for messages. */
  String endpoint() {
    return endpoints.stream().map(LockUri.Endpoint::toString).collect(Collectors.joining(","));
  }

  /** The diagnosis of servers that do not answer. */
  Diagnosis diagnosis() {
    return new Diagnosis(endpoints, ssl == null ? null : ssl::jdkContext);
  }

  /** Returns the login of the URI's user, or null if there is none. */
  @Nullable Login login(Duration requestTimeout) {
    return uri.user()
        .map(user -> new Login(user, () -> uri.password().orElse(""), requestTimeout))
        .orElse(null);
  }

  Connector connector(@Nullable Login login, Duration requestTimeout) {
    return new Connector(new EndpointResolver(endpoints), ssl, login, requestTimeout);
  }
}
