package dev.interlock.tck.fault;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;

/** Echoes what it receives, and records how its connections ended. */
final class EchoServer {
  /** The end of a connection, as the server saw it. */
  enum End {
    CLOSED,
    RESET
  }

  private final ServerSocket listener;
  private final Thread acceptor;
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();
  private final BlockingQueue<End> ends = new LinkedBlockingQueue<>();
  private final AtomicLong received = new AtomicLong();

  EchoServer() throws IOException {
    listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    acceptor = start("echo-accept", this::accept);
  }

  private static Thread start(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private void accept() {
    try {
      while (true) {
        Socket socket = listener.accept();
        sockets.add(socket);
        start("echo", () -> serve(socket));
      }
    } catch (IOException e) {
      // closed
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      InputStream in = socket.getInputStream();
      byte[] buffer = new byte[4096];
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        received.addAndGet(n);
        socket.getOutputStream().write(buffer, 0, n);
      }
      ends.add(End.CLOSED);
    } catch (IOException e) {
      ends.add(End.RESET);
    }
  }

  int port() {
    return listener.getLocalPort();
  }

  long received() {
    return received.get();
  }

  /** The ends of connections, in order. */
  BlockingQueue<End> ends() {
    return ends;
  }

  void stop() throws IOException, InterruptedException {
    listener.close();
    acceptor.join(); // it may still take a connection that came at the same moment
    for (Socket socket : sockets) {
      socket.close();
    }
  }
}
