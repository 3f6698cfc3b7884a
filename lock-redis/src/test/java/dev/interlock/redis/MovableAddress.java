package dev.interlock.redis;

import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An address that may come to mean another server, as a virtual one or a load balancer's does. A
 * connection that was made before stays where it is, and may be {@linkplain #silence() silenced}.
 */
final class MovableAddress implements AutoCloseable {

  private final ServerSocket listener;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private final Set<Socket> silent = ConcurrentHashMap.newKeySet();
  private volatile RedisServer target;

  private MovableAddress(RedisServer target) throws IOException {
    this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    this.target = target;
  }

  static MovableAddress of(RedisServer target) throws IOException {
    MovableAddress address = new MovableAddress(target);
    ConnectionThreads.start(address::accept);
    return address;
  }

  int port() {
    return listener.getLocalPort();
  }

  String uri() {
    return "redis://127.0.0.1:" + port();
  }

  void moveTo(RedisServer server) {
    target = server;
  }

  /** Lets nothing through any more on the connections made so far, which stay open. */
  void silence() {
    silent.addAll(sockets);
  }

  private void accept() throws IOException {
    while (true) {
      Socket client = listener.accept();
      Socket server = new Socket(target.host(), target.port());
      sockets.add(client);
      sockets.add(server);
      ConnectionThreads.start(() -> pump(client, server));
      ConnectionThreads.start(() -> pump(server, client));
    }
  }

  private void pump(Socket from, Socket to) throws IOException {
    byte[] bytes = new byte[8192];
    try (from;
        to) {
      int count = from.getInputStream().read(bytes);
      while (count >= 0) {
        if (!silent.contains(to)) {
          to.getOutputStream().write(bytes, 0, count);
        }
        count = from.getInputStream().read(bytes);
      }
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket socket : sockets) {
      socket.close();
    }
  }
}
