package dev.interlock.redis;

import dev.interlock.testbed.RedisServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An address that may come to mean another server, as a virtual one or a load balancer's does. A
 * connection that was made before stays where it is.
 */
final class MovableAddress implements AutoCloseable {

  private final ServerSocket listener;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
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

  private static void pump(Socket from, Socket to) throws IOException {
    try (from;
        to) {
      from.getInputStream().transferTo(to.getOutputStream());
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
