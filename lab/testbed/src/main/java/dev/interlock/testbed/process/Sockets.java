package dev.interlock.testbed.process;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;

/** Connections with time-outs. */
public final class Sockets {
  private Sockets() {}

  /**
   * Connects.
   *
   * @param limit the time-out of the connection, and later of each read
   * @throws java.net.ConnectException if the connection is refused
   * @throws IOException if the connection is not made within the limit
   */
  public static Socket connect(String host, int port, Duration limit) throws IOException {
    int millis = Math.toIntExact(Math.max(1, limit.toMillis()));
    Socket socket = new Socket();
    try {
      socket.connect(new InetSocketAddress(host, port), millis);
      socket.setSoTimeout(millis);
      return socket;
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }
}
