package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockUri;
import java.io.EOFException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * Finds the reason why requests are not answered. It connects to every endpoint as a client of etcd
 * would, and reads the beginning of the server's answer.
 *
 * <p>The driver does not always know the reason: a request whose deadline passes while the driver
 * connects carries none, and a connection that the server has closed may carry none either.
 */
final class Diagnosis {

  // A client begins with a fixed text and its settings (RFC 9113, section 3.4), here none.
  private static final byte[] PREFACE =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0".getBytes(US_ASCII);
  // The server begins with its own settings, whose frame has a header of nine bytes.
  private static final int HEADER_LENGTH = 9;
  private static final int TYPE_AT = 3;
  private static final byte SETTINGS = 4;

  private final List<LockUri.Endpoint> endpoints;
  private final @Nullable Supplier<SSLContext> tls;

  Diagnosis(List<LockUri.Endpoint> endpoints, @Nullable Supplier<SSLContext> tls) {
    this.endpoints = endpoints;
    this.tls = tls;
  }

  /**
   * Returns the problem, or null if a server answers as expected. Connects on separate threads,
   * because looking up a host takes no deadline.
   */
  @Nullable LockException find(Failures failures, Requests requests, Deadline deadline)
      throws InterruptedException {
    int millis = (int) Math.max(1, Math.min(Integer.MAX_VALUE, deadline.remaining().toMillis()));
    List<LockException> problems = Collections.synchronizedList(new ArrayList<>());
    CompletableFuture<Boolean> served = new CompletableFuture<>();
    ThreadFactory threads = DaemonThreads.factory("interlock-etcd-diagnosis");
    for (LockUri.Endpoint endpoint : endpoints) {
      threads
          .newThread(
              () -> {
                LockException problem = check(endpoint, millis, failures);
                if (problem == null) {
                  served.complete(true);
                } else {
                  problems.add(problem);
                  if (problems.size() == endpoints.size()) {
                    served.complete(false);
                  }
                }
              })
          .start();
    }
    try {
      if (requests.await(served, deadline)) {
        return null;
      }
    } catch (TimeoutException | ExecutionException e) {
      problems.add(failures.temporary("no answer in time", e));
    }
    synchronized (problems) {
      return Collections.max(problems, Comparator.comparing(Diagnosis::rank));
    }
  }

  /** Ranks configuration errors above temporary failures, and both above silence. */
  private static int rank(LockException problem) {
    return problem instanceof LockConfigurationException ? 2 : Failures.isSilence(problem) ? 0 : 1;
  }

  /** Returns the problem of one endpoint, or null. */
  @Nullable LockException check(LockUri.Endpoint endpoint, int millis, Failures failures) {
    try (Socket socket = new WriteTolerantSocket()) {
      socket.setSoTimeout(millis);
      try {
        socket.connect(new InetSocketAddress(endpoint.host(), endpoint.port()), millis);
      } catch (IOException e) {
        return failures.notConnected(e);
      }
      greet(tls == null ? socket : secured(tls.get(), socket, endpoint));
      return null;
    } catch (IOException e) {
      return tls == null ? failures.notGreeted(e) : failures.notSecured(e);
    }
  }

  private static Socket secured(SSLContext tls, Socket socket, LockUri.Endpoint endpoint)
      throws IOException {
    SSLSocket secured =
        (SSLSocket)
            tls.getSocketFactory().createSocket(socket, endpoint.host(), endpoint.port(), true);
    SSLParameters parameters = secured.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    parameters.setApplicationProtocols(new String[] {"h2"});
    secured.setSSLParameters(parameters);
    secured.startHandshake();
    return secured;
  }

  /**
   * Exchanges the first HTTP/2 frames. With TLS 1.3 the server asks for a client's certificate only
   * here.
   */
  private static void greet(Socket socket) throws IOException {
    socket.getOutputStream().write(PREFACE);
    socket.getOutputStream().flush();
    byte[] header = socket.getInputStream().readNBytes(HEADER_LENGTH);
    if (header.length < HEADER_LENGTH) {
      throw new EOFException("closed before the server answered");
    }
    if (header[TYPE_AT] != SETTINGS) {
      throw new ProtocolException("the server does not speak HTTP/2");
    }
  }

  /**
   * A socket whose writes never fail. A server that refuses the client may close the connection
   * while the client is still writing; the next read shows the reason, or that the connection is
   * closed.
   */
  private static final class WriteTolerantSocket extends Socket {
    @Override
    public OutputStream getOutputStream() throws IOException {
      return new FilterOutputStream(super.getOutputStream()) {
        @Override
        public void write(byte[] bytes, int offset, int length) {
          try {
            out.write(bytes, offset, length);
          } catch (IOException e) {
            // The next read shows the reason.
          }
        }
      };
    }
  }
}
