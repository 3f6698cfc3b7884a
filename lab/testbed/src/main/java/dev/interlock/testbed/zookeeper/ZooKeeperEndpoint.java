package dev.interlock.testbed.zookeeper;

import dev.interlock.testbed.process.Sockets;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where one ZooKeeper server listens. It is asked by its <a
 * href="https://zookeeper.apache.org/doc/current/zookeeperAdmin.html#sc_zkCommands">four letter
 * words</a>, of which a server in its default state answers {@code srvr} only.
 */
record ZooKeeperEndpoint(String host, int port) {
  private static final Pattern VERSION =
      Pattern.compile("^(?i:zookeeper[. ]version)[:=] ?(\\d+(\\.\\d+)*)", Pattern.MULTILINE);

  /** Sends a word and reads all that comes until the server closes the connection. */
  String ask(String word, Duration limit) throws IOException {
    try (Socket socket = Sockets.connect(host, port, limit)) {
      socket.getOutputStream().write(word.getBytes(StandardCharsets.US_ASCII));
      socket.getOutputStream().flush();
      String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      if (answer.isEmpty()) {
        throw new IOException("the server closed the connection without an answer");
      }
      return answer;
    }
  }

  /** Whether the process is up; it may still be without a quorum. */
  boolean ready(Duration limit) throws IOException {
    ask("srvr", limit);
    return true;
  }

  /** The version, from {@code envi} (also without a quorum) or {@code srvr} (also by default). */
  static String version(String answer) throws IOException {
    Matcher matcher = VERSION.matcher(answer);
    if (!matcher.find()) {
      throw new IOException("no version in what the server says: " + answer.strip());
    }
    return matcher.group(1);
  }
}
