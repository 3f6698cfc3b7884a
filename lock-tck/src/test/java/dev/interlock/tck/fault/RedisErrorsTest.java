package dev.interlock.tck.fault;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Only the chosen commands get errors, and all other replies stay in order. */
@Timeout(60)
class RedisErrorsTest {
  private static final Duration NOW = Duration.ofMillis(1);

  private final Queue<String> executed = new ConcurrentLinkedQueue<>();
  private ServerSocket listener;
  private RedisErrors way;
  private Socket client;

  @BeforeEach
  void start() throws IOException {
    listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread server = new Thread(this::serve, "redis-of-the-test");
    server.setDaemon(true);
    server.start();
    way =
        RedisErrors.to(
            List.of((InetSocketAddress) listener.getLocalSocketAddress()),
            ports -> "redis://127.0.0.1:" + ports.get(0));
    InetAddress local = InetAddress.getLoopbackAddress();
    client = new Socket(local, Integer.parseInt(way.uri().replaceAll(".*:", "")));
  }

  @AfterEach
  void stop() throws IOException {
    client.close();
    way.close();
    listener.close();
  }

  /**
   * Answers a command with its last word. A subscription also gets a message, of version 3 of the
   * protocol for patterns, except in a transaction or if a channel is forbidden. TRACKED also gets
   * an invalidation message. From WAIT on, answers are sent after UNSUBSCRIBE was read.
   */
  private void serve() {
    try (Socket socket = listener.accept()) {
      StringBuilder answer = new StringBuilder();
      boolean waits = false;
      boolean queues = false;
      while (true) {
        RespFrame request = RespFrame.read(socket.getInputStream());
        executed.add(String.join(" ", request.words()));
        waits =
            request.command().equals("WAIT") || (waits && !request.command().equals("UNSUBSCRIBE"));
        List<String> arguments = request.words().subList(1, request.words().size());
        queues =
            request.command().equals("MULTI") || (queues && !request.command().equals("RESET"));
        switch (request.command()) {
          case "SUBSCRIBE" -> {
            if (queues || arguments.contains("forbidden")) {
              answer.append(queues ? "+QUEUED\r\n" : "-NOPERM\r\n");
              break;
            }
            for (String channel : arguments) {
              answer.append(array("message", "early", "news"));
              answer.append(array("subscribe", channel, "1"));
            }
          }
          case "PSUBSCRIBE" -> {
            for (String pattern : arguments) {
              answer.append(push("pmessage", "early", "news"));
              answer.append(push("psubscribe", pattern, "1"));
            }
          }
          case "TRACKED" -> {
            answer.append(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n");
            answer.append(push("tracking-redir-broken", "7"));
            answer.append("+").append(arguments.get(0)).append("\r\n");
          }
          default -> {
            String last = request.words().get(request.words().size() - 1);
            answer.append("+").append(last).append("\r\n");
          }
        }
        if (!waits) {
          socket.getOutputStream().write(answer.toString().getBytes(UTF_8));
          answer.setLength(0);
        }
      }
    } catch (IOException e) {
      // the end
    }
  }

  private static String array(String... words) {
    StringBuilder array = new StringBuilder("*" + words.length + "\r\n");
    for (String word : words) {
      array.append("$").append(word.length()).append("\r\n").append(word).append("\r\n");
    }
    return array.toString();
  }

  private static String push(String... words) {
    return array(words).replaceFirst("\\*", ">");
  }

  private void send(String... commands) throws IOException {
    StringBuilder all = new StringBuilder();
    for (String command : commands) {
      all.append(array(command.split(" ")));
    }
    client.getOutputStream().write(all.toString().getBytes(UTF_8));
  }

  private String reply() throws IOException {
    return String.join(" ", RespFrame.read(client.getInputStream()).words());
  }

  /** Checks the next replies, of an error only its first word. */
  private void assertReplies(String... expected) throws IOException {
    for (String reply : expected) {
      String actual = reply();
      assertEquals(reply, reply.endsWith(" ") ? actual.split(" ")[0] + " " : actual);
    }
  }

  @Test
  void aCommandInAPipelineIsRefusedInItsTurnAndNotExecuted() throws Exception {
    send("ECHO before");
    assertReplies("before");
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.LOADING, 1, 1)) {
      assertFalse(spoiled.awaitHit(NOW));
      send("ECHO a", "ECHO b", "ECHO c");
      assertReplies("a", "LOADING ", "c");
      assertTrue(spoiled.awaitHit(NOW));
      send("ECHO d");
      assertReplies("d");
    }
    assertEquals(List.of("ECHO before", "ECHO a", "ECHO c", "ECHO d"), List.copyOf(executed));
    assertTrue(way.speaksRedis());
    assertFalse(way.encrypted());
  }

  @Test
  void everythingIsRefusedUntilItEnds() throws Exception {
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.NOPERM, 0, Integer.MAX_VALUE)) {
      send("ECHO a", "GET b");
      assertReplies(
          "NOPERM this user has no permissions to run the 'ECHO' command",
          "NOPERM this user has no permissions to run the 'GET' command");
      assertTrue(spoiled.awaitHit(NOW));
    }
    send("ECHO c");
    assertReplies("c");
  }

  @Test
  void messagesAreNoReplies() throws Exception {
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.BUSY, 2, 1)) {
      send("SUBSCRIBE one two", "ECHO a", "ECHO b", "ECHO c");
      assertReplies("message early news", "subscribe one 1");
      assertReplies("message early news", "subscribe two 1", "a", "BUSY ", "c");
      assertTrue(spoiled.awaitHit(NOW));
    }
  }

  @Test
  void aSubscriptionThatIsRefusedHasOneReply() throws Exception {
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.BUSY, 1, 1)) {
      send("SUBSCRIBE one forbidden", "ECHO a", "ECHO b");
      assertReplies("NOPERM", "BUSY ", "b");
      assertTrue(spoiled.awaitHit(NOW));
    }
  }

  /** EXEC has one reply for each channel here. */
  @Test
  void aSubscriptionInATransactionIsTheLastThatIsCounted() throws Exception {
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.BUSY, 0, 1)) {
      send("MULTI", "SUBSCRIBE one two", "EXEC", "ECHO a");
      assertReplies("MULTI", "QUEUED", "EXEC", "a");
      assertFalse(spoiled.awaitHit(NOW));
    }
  }

  @Test
  void aResetEndsATransaction() throws Exception {
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.BUSY, 0, 1)) {
      send("MULTI", "RESET");
      assertReplies("MULTI", "RESET");
      send("ECHO a");
      assertReplies("BUSY ");
    }
  }

  @Test
  void whatIsPushedWithoutASubscriptionIsNoReply() throws Exception {
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.BUSY, 1, 1)) {
      send("TRACKED a", "ECHO b", "ECHO c");
      assertReplies("invalidate", "tracking-redir-broken 7", "a", "BUSY ", "c");
      assertTrue(spoiled.awaitHit(NOW));
    }
  }

  @Test
  void aConfirmationThatIsPushedIsAReply() throws Exception {
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.BUSY, 1, 1)) {
      send("PSUBSCRIBE one two", "ECHO a");
      assertReplies("pmessage early news", "psubscribe one 1");
      assertReplies("pmessage early news", "psubscribe two 1", "BUSY ");
      send("ECHO b");
      assertReplies("b");
      assertTrue(spoiled.awaitHit(NOW));
    }
  }

  @Test
  void aTransactionIsLeftAlone() throws Exception {
    send("MULTI", "ECHO a");
    assertReplies("MULTI", "a");
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.BUSY, 0, 1)) {
      send("ECHO b", "ECHO EXEC");
      assertReplies("b", "EXEC");
      assertFalse(spoiled.awaitHit(NOW));
    }
  }

  @Test
  void anExecThatIsRefusedHasDiscardedTheTransaction() throws Exception {
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.LOADING, 0, 1)) {
      send("MULTI", "ECHO a", "EXEC", "ECHO b");
      assertReplies("MULTI", "a");
      assertEquals(
          "EXECABORT Transaction discarded because of:"
              + " LOADING Redis is loading the dataset in memory",
          reply());
      assertReplies("b");
      assertTrue(spoiled.awaitHit(NOW));
    }
    assertEquals(List.of("MULTI", "ECHO a", "DISCARD", "ECHO b"), List.copyOf(executed));
  }

  @Test
  void anExecThatIsRedirectedHasDiscardedTheTransaction() throws Exception {
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.MOVED, 0, 1)) {
      send("MULTI", "EXEC", "ECHO a");
      assertReplies("MULTI");
      assertTrue(reply().startsWith("MOVED 866 "));
      assertReplies("a");
      assertTrue(spoiled.awaitHit(NOW));
    }
    assertEquals(List.of("MULTI", "DISCARD", "ECHO a"), List.copyOf(executed));
  }

  @Test
  void aDiscardIsOfItsTransaction() throws Exception {
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.NOPERM, 0, 1)) {
      send("MULTI", "DISCARD");
      assertReplies("MULTI", "DISCARD");
      assertFalse(spoiled.awaitHit(NOW));
      send("ECHO a");
      assertReplies("NOPERM ");
    }
  }

  @Test
  void anErrorThatIsDueIsSaidThoughTheConnectionIsLeftAlone() throws Exception {
    try (RedisErrors.ActiveErrors spoiled = way.answer(RedisError.LOADING, 1, Integer.MAX_VALUE)) {
      send("WAIT a", "ECHO b", "EXEC", "UNSUBSCRIBE", "ECHO c");
      assertReplies("a", "LOADING ", "EXECABORT ", "UNSUBSCRIBE", "c");
      assertTrue(spoiled.awaitHit(NOW));
    }
  }

  @Test
  void framesOfBothVersionsAreReadWhole() throws Exception {
    String frames =
        String.join(
            "\r\n",
            List.of(
                "$-1", "*-1", "_", "#t", ",1.5", "%1", "+a", "*1", ":1", "|1", "+ttl", ":5", "$2",
                "", "", ">2", "+push", "~1", "(12", "=5", "txt:a", ""));
    InputStream in = new ByteArrayInputStream(frames.getBytes(UTF_8));
    ByteArrayOutputStream read = new ByteArrayOutputStream();
    for (int i = 0; i < 9; i++) {
      RespFrame.read(in).writeTo(read);
    }
    assertEquals(frames, read.toString(UTF_8));
    assertThrows(EOFException.class, () -> RespFrame.read(in));
    assertArrayEquals(new byte[0], in.readAllBytes());
  }

  @Test
  void aServerThatSpeaksFirstIsHeard() throws Exception {
    try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        RedisErrorProxy proxy =
            new RedisErrorProxy(
                new InetSocketAddress(listener.getInetAddress(), listener.getLocalPort()))) {
      Thread greeter =
          new Thread(
              () -> {
                try (Socket socket = listener.accept()) {
                  socket.getOutputStream().write('g');
                  socket.getOutputStream().write(socket.getInputStream().read());
                } catch (IOException e) {
                  // the client notices it
                }
              });
      greeter.start();
      try (Socket client =
          new Socket(InetAddress.getLoopbackAddress(), proxy.address().getPort())) {
        client.setSoTimeout(60_000);
        assertEquals('g', client.getInputStream().read());
        client.getOutputStream().write('*');
        assertEquals('*', client.getInputStream().read());
      }
      greeter.join();
    }
  }
}
