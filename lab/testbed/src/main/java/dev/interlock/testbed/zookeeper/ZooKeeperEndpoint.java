package dev.interlock.testbed.zookeeper;

import dev.interlock.testbed.process.Sockets;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The address of one ZooKeeper server, which is queried with <a
 * href="https://zookeeper.apache.org/doc/current/zookeeperAdmin.html#sc_zkCommands">four letter
 * words</a>. By default a server answers only {@code srvr}.
 */
record ZooKeeperEndpoint(String host, int port) {
  private static final Pattern VERSION =
      Pattern.compile("^(?i:zookeeper[. ]version)[:=] ?(\\d+(\\.\\d+)*)", Pattern.MULTILINE);

  /** Sends a word, and returns the answer until the server closes the connection. */
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

  /** {@return true} Throws an exception if the process does not answer, even without a quorum. */
  boolean ready(Duration limit) throws IOException {
    ask("srvr", limit);
    return true;
  }

  /** {@return the version in an answer to {@code envi} or {@code srvr}} */
  static String version(String answer) throws IOException {
    Matcher matcher = VERSION.matcher(answer);
    if (!matcher.find()) {
      throw new IOException("the server's answer contains no version: " + answer.strip());
    }
    return matcher.group(1);
  }
}
