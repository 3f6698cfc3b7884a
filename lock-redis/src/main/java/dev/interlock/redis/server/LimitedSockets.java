package dev.interlock.redis.server;

import dev.interlock.spi.Deadline;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.channels.SocketChannel;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.DefaultJedisSocketFactory;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * Connects to a server within a deadline, which includes the lookup of the host's name, all its
 * addresses, the TLS handshake, and logging in. Jedis limits each of these steps except the lookup,
 * but not their sum. Makes one connection, for one thread.
 */
final class LimitedSockets extends DefaultJedisSocketFactory {

  private final HostAndPort server;
  private final JedisClientConfig config;
  private final boolean isForPipeline;
  private @Nullable Deadline limit;
  private @Nullable SocketChannel channel;

  /**
   * Creates the sockets of one connection.
   *
   * @param limit the deadline; null to limit only each step
   * @param isForPipeline whether a selector waits for the replies, if there is no TLS; otherwise
   *     the thread that has sent a request polls for the reply
   */
  LimitedSockets(
      HostAndPort server,
      JedisClientConfig config,
      @Nullable Deadline limit,
      boolean isForPipeline) {
    super(server, config);
    this.server = server;
    this.config = config;
    this.limit = limit;
    this.isForPipeline = isForPipeline;
  }

  /** Returns the channel of the last socket, or null if it has none. */
  @Nullable SocketChannel channel() {
    return channel;
  }

  /** Removes the deadline. Called when the connection is made. */
  void liftLimit() {
    limit = null;
  }

  @Override
  public Socket createSocket() {
    try {
      Socket socket = connect();
      SslOptions tls = config.getSslOptions();
      return tls == null ? socket : encrypted(socket, tls);
    } catch (IOException | GeneralSecurityException e) {
      throw new JedisConnectionException("could not connect to " + server, e);
    }
  }

  private Socket connect() throws IOException {
    List<InetAddress> addresses =
        Arrays.asList(
            HostLookup.SYSTEM.addresses(
                server.getHost(), remainingMillis(config.getConnectionTimeoutMillis())));
    Collections.shuffle(addresses);
    IOException problem = new UnknownHostException(server.getHost());
    for (InetAddress address : addresses) {
      Socket socket = newSocket();
      try {
        socket.setKeepAlive(true);
        socket.setTcpNoDelay(true);
        socket.setSoLinger(true, 0);
        socket.connect(
            new InetSocketAddress(address, server.getPort()),
            remainingMillis(config.getConnectionTimeoutMillis()));
        socket.setSoTimeout(config.getSocketTimeoutMillis());
        return socket;
      } catch (IOException e) {
        socket.close();
        problem = e;
      }
    }
    throw problem;
  }

  private Socket newSocket() throws IOException {
    if (!isForPipeline || config.getSslOptions() != null) {
      return new LimitedSocket();
    }
    channel = SocketChannel.open();
    return channel.socket();
  }

  private Socket encrypted(Socket socket, SslOptions tls)
      throws IOException, GeneralSecurityException {
    try {
      SSLSocket encrypted =
          (SSLSocket)
              tls.createSslContext()
                  .getSocketFactory()
                  .createSocket(socket, server.getHost(), server.getPort(), true);
      // These include the check that the certificate is for this host.
      encrypted.setSSLParameters(tls.getSslParameters());
      return encrypted;
    } catch (IOException | GeneralSecurityException | RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  /** Returns the milliseconds that a step may take; at least 1, because 0 means no limit. */
  private int remainingMillis(int stepTimeout) throws SocketTimeoutException {
    Deadline deadline = limit;
    if (deadline == null) {
      return stepTimeout;
    }
    if (deadline.hasPassed()) {
      throw new SocketTimeoutException("the deadline passed while connecting");
    }
    return (int) Math.min(stepTimeout, deadline.remaining().toMillis() + 1);
  }

  /**
   * A socket that sets its time-out before every read while there is a deadline. Later it polls for
   * replies, except in a pipeline, whose thread always waits for some.
   */
  private final class LimitedSocket extends Socket {
    private final BusyPoll poll = new BusyPoll();

    @Override
    public InputStream getInputStream() throws IOException {
      return new FilterInputStream(super.getInputStream()) {
        @Override
        public int read() throws IOException {
          limitRead();
          return super.read();
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
          if (limit == null && !isForPipeline) {
            return poll.read(in, bytes, offset, length);
          }
          limitRead();
          return super.read(bytes, offset, length);
        }
      };
    }

    private void limitRead() throws SocketTimeoutException, SocketException {
      if (limit != null) {
        setSoTimeout(remainingMillis(config.getSocketTimeoutMillis()));
      }
    }
  }
}
