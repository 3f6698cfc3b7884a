package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Optional;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * The certificates that a client trusts, and the one that it presents to servers that ask.
 *
 * @param file the trusted certificates; null for those of the JVM
 */
public record TlsTrust(@Nullable Path file, SSLContext context) {

  /**
   * Trusts the certificates of a file in PEM form.
   *
   * @throws TestbedException if they cannot be read
   */
  public static TlsTrust in(Path pem) {
    return in(pem, null);
  }

  /**
   * Trusts the certificates of a file in PEM form, and presents one to servers that ask.
   *
   * @throws TestbedException if they cannot be read
   */
  static TlsTrust in(Path pem, KeyManager @Nullable [] presented) {
    try (InputStream in = Files.newInputStream(pem)) {
      KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null, null);
      for (Certificate certificate :
          CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        trusted.setCertificateEntry("trusted-" + trusted.size(), certificate);
      }
      TrustManagerFactory managers =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      managers.init(trusted);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(presented, managers.getTrustManagers(), null);
      return new TlsTrust(pem, context);
    } catch (IOException | GeneralSecurityException e) {
      throw new TestbedException("cannot read certificates from " + pem + ": " + e, e);
    }
  }

  /** Trusts the certificates of a file, or those of the JVM if it is null. */
  static TlsTrust named(@Nullable String file) {
    if (file != null) {
      return in(Path.of(file));
    }
    try {
      return new TlsTrust(null, SSLContext.getDefault());
    } catch (GeneralSecurityException e) {
      throw new TestbedException("the JVM does not support TLS: " + e.getMessage(), e);
    }
  }

  /** {@return the file of trusted certificates; empty for those of the JVM} */
  public Optional<Path> certificates() {
    return Optional.ofNullable(file);
  }

  /** {@return the query of a lock client's URI that names the file; empty without a file} */
  public String query() {
    return file == null ? "" : "?caCert=" + EndpointUri.encode(file.toString());
  }

  /** Starts TLS on a connection, and checks the server's name. */
  public SSLSocket over(Socket plain, String host, int port) throws IOException {
    SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(plain, host, port, true);
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    socket.setSSLParameters(parameters);
    socket.startHandshake();
    return socket;
  }
}
