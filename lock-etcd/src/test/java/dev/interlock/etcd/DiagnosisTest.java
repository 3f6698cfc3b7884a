package dev.interlock.etcd;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.spi.LockUri;
import dev.interlock.testbed.server.TlsIdentity;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DiagnosisTest {

  // A fatal alert, bad_certificate (RFC 5246, section 7.2). From TLS 1.3 on it would be encrypted.
  private static final byte[] ALERT = {21, 3, 3, 0, 2, 2, 42};
  private static final String VERSION = "TLSv1.2";
  private static final int HEADER_LENGTH = 5;

  /**
   * A server closes as soon as it has refused a client's certificate, which may be before the
   * client has sent the rest of its handshake. This one closes before the client has sent any of
   * it.
   */
  @Test
  void aRefusalIsReadEvenIfTheServerHasAlreadyClosed(@TempDir Path directory) throws Exception {
    TlsIdentity identity = TlsIdentity.forSubject(directory, "ip:127.0.0.1");
    SslContext server =
        SslContextBuilder.forServer(identity.certificate().toFile(), identity.key().toFile())
            .sslProvider(SslProvider.JDK)
            .protocols(VERSION)
            .clientAuth(ClientAuth.REQUIRE)
            .build();
    JdkSslContext client =
        (JdkSslContext)
            SslContextBuilder.forClient()
                .sslProvider(SslProvider.JDK)
                .trustManager(identity.certificate().toFile())
                .build();
    try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      CompletableFuture<Void> refusing =
          CompletableFuture.runAsync(
              () -> refuse(listening, server.newEngine(UnpooledByteBufAllocator.DEFAULT)));
      LockUri.Endpoint endpoint = new LockUri.Endpoint("127.0.0.1", listening.getLocalPort());
      LockException found =
          new Diagnosis(List.of(endpoint), client::context)
              .check(endpoint, 60_000, new Failures(endpoint.toString()));
      refusing.get(1, TimeUnit.MINUTES);
      assertInstanceOf(LockConfigurationException.class, found);
      assertTrue(found.getMessage().contains("asks for a client certificate"), found::toString);
    }
  }

  private static void refuse(ServerSocket listening, SSLEngine engine) {
    try (Socket socket = listening.accept()) {
      DataInputStream in = new DataInputStream(socket.getInputStream());
      ByteBuffer hello = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
      in.readFully(hello.array(), 0, HEADER_LENGTH);
      int length = hello.getShort(HEADER_LENGTH - Short.BYTES);
      in.readFully(hello.array(), HEADER_LENGTH, length);
      engine.unwrap(hello.limit(HEADER_LENGTH + length), ByteBuffer.allocate(0));
      while (engine.getHandshakeStatus() == HandshakeStatus.NEED_TASK) {
        engine.getDelegatedTask().run();
      }
      ByteArrayOutputStream answer = new ByteArrayOutputStream();
      while (engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP) {
        ByteBuffer record = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
        engine.wrap(ByteBuffer.allocate(0), record);
        answer.write(record.array(), 0, record.position());
      }
      answer.write(ALERT);
      answer.writeTo(socket.getOutputStream());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
