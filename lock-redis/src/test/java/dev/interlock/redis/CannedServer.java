package dev.interlock.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.IntSupplier;

/**
 * A server that gives the same reply to every command of a kind. It replaces a real server for
 * replies that this does not give: those of old versions, or of another protocol.
 */
final class CannedServer implements AutoCloseable {

  private final ServerSocket listener;
  private final Set<Socket> clients = ConcurrentHashMap.newKeySet();

  private CannedServer() throws IOException {
    this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  }

  /** Starts a server that sends the same text to every client, and hangs up. */
  static CannedServer saying(String answer) throws IOException {
    CannedServer server = new CannedServer();
    server.serve(
        client -> {
          if (client.getInputStream().read() >= 0) {
            client.getOutputStream().write(answer.getBytes(UTF_8));
          }
          client.shutdownOutput();
          client.getInputStream().skipNBytes(Long.MAX_VALUE); // until it hangs up, too
        });
    return server;
  }

  /** A Redis that does not know HELLO, and answers scripts with the given replies. */
  static CannedServer answeringScripts(String answer) throws IOException {
    CannedServer server = new CannedServer();
    server.answer(
        command ->
            switch (command) {
              case "PING" -> "+PONG";
              case "EVAL", "EVALSHA" -> answer;
              case "HELLO" -> "-ERR unknown command `HELLO`";
              default -> "+OK";
            });
    return server;
  }

  /** Starts a node of a cluster that only knows CLUSTER SLOTS. */
  static CannedServer tellingSlots(String slots) throws IOException {
    CannedServer server = new CannedServer();
    server.answer(
        command ->
            switch (command) {
              case "CLUSTER" -> slots;
              case "HELLO" -> "-ERR unknown command `HELLO`";
              default -> "+OK";
            });
    return server;
  }

  /**
   * A sentinel that knows the primary of every name, and never publishes a change.
   *
   * @param primary asked for the port of the primary, on this machine
   * @param subscribed runs at each subscription
   */
  static CannedServer sentinel(IntSupplier primary, Runnable subscribed) throws IOException {
    CannedServer server = new CannedServer();
    server.answer(
        command ->
            switch (command) {
              case "SENTINEL" -> "*2\r\n+127.0.0.1\r\n+" + primary.getAsInt();
              case "SUBSCRIBE" -> {
                subscribed.run();
                yield "*3\r\n+subscribe\r\n+switch-master\r\n:1";
              }
              default -> "+OK";
            });
    return server;
  }

  int port() {
    return listener.getLocalPort();
  }

  private interface Conversation {
    void with(Socket client) throws IOException;
  }

  private void answer(Function<String, String> answers) {
    serve(
        client -> {
          DataInputStream in =
              new DataInputStream(new BufferedInputStream(client.getInputStream()));
          OutputStream out = client.getOutputStream();
          while (true) {
            int parts = Integer.parseInt(line(in).substring(1));
            String command = "";
            for (int i = 0; i < parts; i++) {
              byte[] part = new byte[Integer.parseInt(line(in).substring(1))];
              in.readFully(part);
              line(in);
              if (i == 0) {
                command = new String(part, UTF_8).toUpperCase(Locale.ROOT);
              }
            }
            out.write((answers.apply(command) + "\r\n").getBytes(UTF_8));
          }
        });
  }

  @SuppressWarnings("deprecation") // Lines of ASCII are all there is.
  private static String line(DataInputStream in) throws IOException {
    String line = in.readLine();
    if (line == null) {
      throw new IOException("the client has hung up");
    }
    return line;
  }

  private void serve(Conversation conversation) {
    ConnectionThreads.start(
        () -> {
          while (true) {
            Socket client = listener.accept();
            clients.add(client);
            if (listener.isClosed()) {
              client.close(); // a thread that waits for connections may get one more
            }
            ConnectionThreads.start(() -> conversation.with(client));
          }
        });
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket client : clients) {
      client.close();
    }
  }
}
