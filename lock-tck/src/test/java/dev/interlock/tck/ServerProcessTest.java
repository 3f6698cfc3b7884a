package dev.interlock.tck;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Tests the control of a server's process. */
@EnabledOnOs(OS.LINUX)
class ServerProcessTest {

  private static final int READ_TIMEOUT_MILLIS = 60_000;

  /** Answers every byte with its process id, which changes with a restart. */
  static final class Answering {
    private Answering() {}

    public static void main(String[] arguments) throws IOException {
      try (ServerSocket listener =
          new ServerSocket(Integer.parseInt(arguments[0]), 50, InetAddress.getLoopbackAddress())) {
        while (true) {
          try (Socket client = listener.accept()) {
            if (client.getInputStream().read() >= 0) {
              client
                  .getOutputStream()
                  .write((ProcessHandle.current().pid() + "\n").getBytes(US_ASCII));
            }
          }
        }
      }
    }
  }

  private static List<String> java(String program, int port) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-cp",
        System.getProperty("java.class.path"),
        program,
        Integer.toString(port));
  }

  @Test
  void theUriHasAsciiDigitsInEveryLocale() throws Exception {
    Locale own = Locale.getDefault(Locale.Category.FORMAT);
    Locale.setDefault(Locale.Category.FORMAT, Locale.forLanguageTag("ar-EG"));
    try (ServerProcess server =
        new ServerProcess(
            "mystore://127.0.0.1:%d", port -> java(Answering.class.getName(), port))) {
      assertEquals("mystore://127.0.0.1:" + server.port(), server.uri());
    } finally {
      Locale.setDefault(Locale.Category.FORMAT, own);
    }
  }

  @Test
  void aServerIsStoppedKilledAndStartedAgainOnItsPort() throws Exception {
    ServerProcess server =
        new ServerProcess("mystore://127.0.0.1:%d", port -> java(Answering.class.getName(), port));
    try (server) {
      assertEquals("mystore://127.0.0.1:" + server.port(), server.uri());
      assertEquals(List.of(server), server.nodes());
      String first = ask(server.port(), READ_TIMEOUT_MILLIS);

      server.pause();
      assertThrows(SocketTimeoutException.class, () -> ask(server.port(), 100));
      server.resume();
      assertEquals(first, ask(server.port(), READ_TIMEOUT_MILLIS));

      server.kill();
      assertThrows(ConnectException.class, () -> ask(server.port(), READ_TIMEOUT_MILLIS));
      server.restart();
      assertTrue(!first.equals(ask(server.port(), READ_TIMEOUT_MILLIS)), "it is the old process");

      server.pause(); // a paused server can also be killed
    }
    assertThrows(ConnectException.class, () -> ask(server.port(), READ_TIMEOUT_MILLIS));
  }

  @Test
  void aProgramThatEndsIsNoServer() {
    IOException e =
        assertThrows(
            IOException.class,
            () -> new ServerProcess("mystore://127.0.0.1:%d", port -> java("no.such.Main", port)));
    assertTrue(e.getMessage().contains("ended before it listened on port"), e::getMessage);
    assertTrue(e.getMessage().contains("no.such.Main"), e::getMessage);
  }

  private static String ask(int port, int timeoutMillis) throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), timeoutMillis);
      socket.setSoTimeout(timeoutMillis);
      socket.getOutputStream().write('?');
      String answer = new String(socket.getInputStream().readAllBytes(), US_ASCII);
      assertTrue(answer.endsWith("\n"), "cut off: " + answer);
      return answer;
    }
  }
}
