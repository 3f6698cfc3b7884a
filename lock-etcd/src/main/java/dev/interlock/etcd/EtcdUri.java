package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.util.concurrent.MoreExecutors;
import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockUri;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.grpc.netty.GrpcSslContexts;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.File;
import java.net.URI;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * What a URI says about a cluster, and the jetcd clients that follow from it. Nothing is connected
 * to here. Every reader refuses what is wrong with a {@link LockConfigurationException}.
 */
final class EtcdUri {

  private static final int PORT = 2379;
  private static final String TLS_SCHEME = "etcds";

  private final LockUri uri;
  private final boolean tls;
  private final List<LockUri.Endpoint> endpoints;
  private final EtcdSettings settings;
  private final @Nullable JdkSslContext ssl;

  EtcdUri(LockUri uri) {
    this.uri = uri;
    this.tls = uri.scheme().equals(TLS_SCHEME);
    this.endpoints = uri.endpoints(PORT);
    EtcdSettings.Builder settings = EtcdSettings.builder();
    uri.text("namespace").ifPresent(settings::namespace);
    this.settings = settings.build();
    this.ssl = tlsContext();
    if (!uri.path().isEmpty() && !uri.path().equals("/")) {
      throw refused("there is no path; what keys begin with is said by namespace=…");
    }
    if (uri.user().isPresent() != uri.password().isPresent()) {
      throw refused("user and password belong together; write user:password@host");
    }
    uri.requireAllRead();
  }

  private @Nullable JdkSslContext tlsContext() {
    Optional<String> authorities = uri.text("caCert");
    Optional<String> certificate = uri.text("clientCert");
    Optional<String> key = uri.text("clientKey");
    if (!tls) {
      if (authorities.isPresent() || certificate.isPresent() || key.isPresent()) {
        throw refused("caCert, clientCert and clientKey are for TLS; write " + TLS_SCHEME + "://");
      }
      return null;
    }
    if (certificate.isPresent() != key.isPresent()) {
      throw refused("clientCert and clientKey belong together");
    }
    // The JDK's own TLS, which the diagnosis speaks as well.
    SslContextBuilder builder =
        GrpcSslContexts.configure(SslContextBuilder.forClient(), SslProvider.JDK);
    try {
      authorities.ifPresent(file -> builder.trustManager(readable("caCert", file)));
      if (certificate.isPresent() && key.isPresent()) {
        builder.keyManager(
            readable("clientCert", certificate.get()), readable("clientKey", key.get()));
      }
      return (JdkSslContext) builder.build();
    } catch (SSLException | IllegalArgumentException e) {
      throw new LockConfigurationException(
          uri.scheme()
              + " URI: caCert and clientCert must be files with X.509 certificates in PEM form,"
              + " and clientKey one with a private key in PKCS #8 form without a password: "
              + e.getMessage(),
          e);
    }
  }

  private File readable(String parameter, String name) {
    File file = new File(name);
    if (!file.canRead()) {
      throw refused(parameter + " must be a readable file, and \"" + name + "\" is not");
    }
    return file;
  }

  private LockConfigurationException refused(String why) {
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

  /** How to find out what is wrong with a server that does not answer. */
  Diagnosis diagnosis() {
    return new Diagnosis(endpoints, ssl == null ? null : ssl.context());
  }

  /**
   * Makes a client whose every request ends: on time, with its connection, or at once if there is
   * none to be had. Requests that wait for a connection would be sent when nobody wants them any
   * more.
   */
  Client client(Duration requestTimeout) {
    ClientBuilder builder =
        Client.builder()
            .endpoints(endpoints.stream().map(e -> URI.create("http://" + e)).toList())
            .namespace(ByteSequence.EMPTY)
            .waitForReady(false)
            .connectTimeout(requestTimeout)
            .keepaliveTime(Duration.ofSeconds(10))
            .keepaliveTimeout(requestTimeout)
            .keepaliveWithoutCalls(false)
            // For a login that has expired; anything else is repeated by whoever knows whether it
            // may be.
            .retryMaxAttempts(1)
            .retryDelay(1)
            .retryMaxDelay(2)
            .retryChronoUnit(ChronoUnit.MILLIS)
            // What the driver does with an answer does not block, and needs no thread of its own.
            .executorService(MoreExecutors.newDirectExecutorService())
            .interceptor(new RequestRules(requestTimeout));
    if (ssl != null) {
      builder.sslContext(ssl);
    }
    uri.user().ifPresent(user -> builder.user(ByteSequence.from(user, UTF_8)));
    uri.password().ifPresent(password -> builder.password(ByteSequence.from(password, UTF_8)));
    return builder.build();
  }
}
