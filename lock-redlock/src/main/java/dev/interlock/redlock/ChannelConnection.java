package dev.interlock.redlock;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** A connection without TLS whose channel lets one thread wait for several nodes. */
final class ChannelConnection extends Connection {

  private final Channels channels;

  private ChannelConnection(Channels channels, DefaultJedisClientConfig config) {
    super(channels, config);
    this.channels = channels;
  }

  /** Connects and logs in. */
  static ChannelConnection to(HostAndPort server, DefaultJedisClientConfig config) {
    return new ChannelConnection(new Channels(server, config), config);
  }

  SocketChannel channel() {
    SocketChannel channel = channels.last;
    if (channel == null) {
      throw new JedisConnectionException("not connected");
    }
    return channel;
  }

  /** Connects as Jedis does. */
  private static final class Channels implements JedisSocketFactory {
    private final HostAndPort server;
    private final DefaultJedisClientConfig config;
    private @Nullable SocketChannel last;

    Channels(HostAndPort server, DefaultJedisClientConfig config) {
      this.server = server;
      this.config = config;
    }

    @Override
    public Socket createSocket() {
      try {
        List<InetAddress> addresses = Arrays.asList(InetAddress.getAllByName(server.getHost()));
        Collections.shuffle(addresses);
        IOException problem = new UnknownHostException(server.getHost());
        for (InetAddress address : addresses) {
          SocketChannel channel = SocketChannel.open();
          try {
            Socket socket = channel.socket();
            socket.setKeepAlive(true);
            socket.setTcpNoDelay(true);
            socket.setSoLinger(true, 0);
            socket.connect(
                new InetSocketAddress(address, server.getPort()),
                config.getConnectionTimeoutMillis());
            socket.setSoTimeout(config.getSocketTimeoutMillis());
            last = channel;
            return socket;
          } catch (IOException e) {
            channel.close();
            problem = e;
          }
        }
        throw problem;
      } catch (IOException e) {
        throw new JedisConnectionException("could not connect to " + server, e);
      }
    }
  }
}
