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
 * The TLS of a client whose certificates are in files that may be replaced. Each new connection
 * uses their current contents.
 */
final class ClientTls extends SslContext {

  private final boolean hasAuthorities;
  private final boolean hasCertificate;
  private final FileBacked<JdkSslContext> current;

  /**
   * Reads the files, which are in PEM form.
   *
   * @param authorities the authorities to trust; empty for those that the JVM trusts
   * @param certificate the client's own certificate, which comes together with its key
   * @throws IOException if a file cannot be read or has the wrong contents
   */
  ClientTls(Optional<Path> authorities, Optional<Path> certificate, Optional<Path> key)
      throws IOException, GeneralSecurityException {
    hasAuthorities = authorities.isPresent();
    hasCertificate = certificate.isPresent();
    List<Path> files = Stream.of(authorities, certificate, key).flatMap(Optional::stream).toList();
    current = new FileBacked<>(files, this::make);
  }

  private JdkSslContext make(List<byte[]> contents) throws IOException {
    // The JDK's own TLS, which the diagnosis uses as well.
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

  /** Reads the files again, and returns the context for a new connection. */
  SSLContext jdkContext() {
    return current.get().context();
  }

  @Override
  public boolean isClient() {
    return true;
  }

  @Override
  public SSLEngine newEngine(ByteBufAllocator allocator) {
    return current.get().newEngine(allocator);
  }

  @Override
  public SSLEngine newEngine(ByteBufAllocator allocator, String host, int port) {
    return current.get().newEngine(allocator, host, port);
  }

  @Override
  public List<String> cipherSuites() {
    return current.get().cipherSuites();
  }

  @Override
  @SuppressWarnings("deprecation") // Netty has no other
  public ApplicationProtocolNegotiator applicationProtocolNegotiator() {
    return current.get().applicationProtocolNegotiator();
  }

  @Override
  public SSLSessionContext sessionContext() {
    return current.get().sessionContext();
  }
}
