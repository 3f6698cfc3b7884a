package dev.interlock.etcd;

import dev.interlock.spi.FileBacked;
import io.grpc.netty.GrpcSslContexts;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.ApplicationProtocolNegotiator;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSessionContext;

/**
 * The TLS of a client whose certificates are in files that may be replaced: each new connection
 * uses their present contents.
 */
final class ClientTls extends SslContext {

  private final boolean hasAuthorities;
  private final boolean hasCertificate;
  private final FileBacked<JdkSslContext> present;

  /**
   * Reads the files, which are in PEM form.
   *
   * @param authorities the authorities to trust; empty for those that the JVM trusts
   * @param certificate the client's own certificate, which comes together with its key
   * @throws IOException if one cannot be read, or does not hold what it should
   */
  ClientTls(Optional<Path> authorities, Optional<Path> certificate, Optional<Path> key)
      throws IOException, GeneralSecurityException {
    hasAuthorities = authorities.isPresent();
    hasCertificate = certificate.isPresent();
    List<Path> files = Stream.of(authorities, certificate, key).flatMap(Optional::stream).toList();
    present = new FileBacked<>(files, this::make);
  }

  private JdkSslContext make(List<byte[]> contents) throws IOException {
    // The JDK's own TLS, which the diagnosis speaks as well.
    SslContextBuilder builder =
        GrpcSslContexts.configure(SslContextBuilder.forClient(), SslProvider.JDK);
    try {
      if (hasAuthorities) {
        builder.trustManager(new ByteArrayInputStream(contents.get(0)));
      }
      if (hasCertificate) {
        int at = hasAuthorities ? 1 : 0;
        builder.keyManager(
            new ByteArrayInputStream(contents.get(at)),
            new ByteArrayInputStream(contents.get(at + 1)));
      }
      return (JdkSslContext) builder.build();
    } catch (IllegalArgumentException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /** Reads the files again; returns what to make a connection with. */
  SSLContext jdkContext() {
    return present.get().context();
  }

  @Override
  public boolean isClient() {
    return true;
  }

  @Override
  public SSLEngine newEngine(ByteBufAllocator allocator) {
    return present.get().newEngine(allocator);
  }

  @Override
  public SSLEngine newEngine(ByteBufAllocator allocator, String host, int port) {
    return present.get().newEngine(allocator, host, port);
  }

  @Override
  public List<String> cipherSuites() {
    return present.get().cipherSuites();
  }

  @Override
  @SuppressWarnings("deprecation") // the only one that Netty has
  public ApplicationProtocolNegotiator applicationProtocolNegotiator() {
    return present.get().applicationProtocolNegotiator();
  }

  @Override
  public SSLSessionContext sessionContext() {
    return present.get().sessionContext();
  }
}
