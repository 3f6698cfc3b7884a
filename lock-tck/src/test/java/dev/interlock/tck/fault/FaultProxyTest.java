package dev.interlock.tck.fault;

import static dev.interlock.tck.fault.Direction.CLIENT_TO_SERVER;
import static dev.interlock.tck.fault.Direction.SERVER_TO_CLIENT;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class FaultProxyTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  private EchoServer server;
  private FaultProxy proxy;
  private final List<Socket> clients = new ArrayList<>();

  @BeforeEach
  void start() throws IOException {
    server = new EchoServer();
    proxy = FaultProxy.to("127.0.0.1", server.port());
  }

  @AfterEach
  void stop() throws Exception {
    for (Socket client : clients) {
      client.close();
    }
    proxy.close();
    server.stop();
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), proxy.port());
    socket.setSoTimeout((int) TIMEOUT.toMillis());
    clients.add(socket);
    return socket;
  }

  private static void send(Socket client, String text) throws IOException {
    client.getOutputStream().write(text.getBytes(UTF_8));
  }

  private static String receive(Socket client, int bytes) throws IOException {
    return new String(client.getInputStream().readNBytes(bytes), UTF_8);
  }

  private static String echo(Socket client, String text) throws IOException {
    send(client, text);
    return receive(client, text.length());
  }

  private void assertWorks(Socket client) throws IOException {
    assertEquals("hello", echo(client, "hello"));
  }

  /** Checks that a read times out: nothing arrives, and the connection stays open. */
  private static void assertSilent(Socket client) throws IOException {
    int before = client.getSoTimeout();
    client.setSoTimeout(100);
    assertThrows(SocketTimeoutException.class, () -> client.getInputStream().read());
    client.setSoTimeout(before);
  }

  private static void assertReset(Socket client) {
    SocketException e = assertThrows(SocketException.class, () -> client.getInputStream().read());
    assertTrue(String.valueOf(e.getMessage()).contains("reset"), e::toString);
  }

  @Test
  void forwardsBothWaysAndCounts() throws Exception {
    Socket client = connect();
    assertEquals("abc", echo(client, "abc"));
    assertEquals("defg", echo(client, "defg"));

    Traffic traffic = proxy.traffic();
    assertEquals(1, traffic.accepted());
    assertEquals(1, traffic.open());
    assertEquals(new Traffic.Flow(2, 7, 7), traffic.toServer());
    assertEquals(7, traffic.toClient().received());
  }

  @Test
  void leadsToAnotherServerForAWhile() throws Exception {
    EchoServer elsewhere = new EchoServer();
    try {
      Socket before = connect();
      assertWorks(before);
      NetworkFault moved =
          proxy.redirectTo(
              new InetSocketAddress(InetAddress.getLoopbackAddress(), elsewhere.port()));
      assertReset(before);
      assertEquals(0, moved.hits());
      Socket meanwhile = connect();
      assertWorks(meanwhile);
      assertEquals(5, elsewhere.received());
      assertEquals(1, moved.hits());
      moved.close();
      assertReset(meanwhile);
      assertWorks(connect());
      assertEquals(5, elsewhere.received());
    } finally {
      elsewhere.stop();
    }
  }

  @Test
  void carriesMoreThanAllBuffersHoldUnchanged() throws Exception {
    byte[] sent = new byte[32 << 20];
    new Random(1).nextBytes(sent);
    Socket client = connect();
    Thread writer =
        new Thread(
            () -> {
              try {
                client.getOutputStream().write(sent);
                client.shutdownOutput();
              } catch (IOException e) {
                throw new AssertionError(e);
              }
            });
    writer.start();
    assertArrayEquals(sent, client.getInputStream().readAllBytes());
    writer.join();
  }

  @Test
  void passesOnAHalfCloseAndThenTheWholeClose() throws Exception {
    Socket client = connect();
    send(client, "last words");
    client.shutdownOutput();
    assertEquals("last words", new String(client.getInputStream().readAllBytes(), UTF_8));
    assertEquals(EchoServer.End.CLOSED, server.ends().poll(20, SECONDS));
    while (proxy.traffic().open() > 0) {
      Thread.onSpinWait();
    }
  }

  @Test
  void passesOnAResetOfTheClient() throws Exception {
    Socket client = connect();
    assertWorks(client);
    client.setSoLinger(true, 0);
    client.close();
    assertEquals(EchoServer.End.RESET, server.ends().poll(20, SECONDS));
  }

  @Test
  void resetsAClientWhoseServerIsNotThere() throws Exception {
    server.stop();
    Socket client = connect();
    assertReset(client);
  }

  @Test
  void cutClosesAllConnectionsAndRefusesNewOnesUntilItEnds() throws Exception {
    Socket first = connect();
    Socket second = connect();
    assertWorks(first);
    assertWorks(second);
    try (NetworkFault cut = proxy.cut()) {
      assertEquals(2, cut.hits());
      assertEquals(-1, first.getInputStream().read());
      assertEquals(-1, second.getInputStream().read());
      assertThrows(ConnectException.class, this::connect);
      assertEquals(0, proxy.traffic().open());
    }
    assertWorks(connect());
  }

  @Test
  void refuseLeavesOpenConnectionsAlone() throws Exception {
    Socket before = connect();
    assertWorks(before);
    try (NetworkFault refuse = proxy.refuse()) {
      assertEquals(0, refuse.hits());
      assertThrows(ConnectException.class, this::connect);
      assertWorks(before);
    }
    assertWorks(connect());
    assertWorks(before);
  }

  @Test
  void twoRefusalsEndWithTheSecond() throws Exception {
    NetworkFault first = proxy.refuse();
    NetworkFault second = proxy.refuse();
    first.close();
    first.close();
    assertThrows(ConnectException.class, this::connect);
    second.close();
    assertWorks(connect());
  }

  @Test
  void refusesAndListensManyTimesOnOnePort() throws Exception {
    for (int i = 0; i < 200; i++) {
      try (NetworkFault refuse = proxy.refuse()) {
        assertThrows(ConnectException.class, this::connect, refuse::toString);
      }
      try (Socket client = connect()) {
        assertWorks(client);
      }
    }
  }

  @Test
  void resetIsSeenByBothSidesAsAReset() throws Exception {
    Socket client = connect();
    assertWorks(client);
    assertEquals(1, proxy.reset());
    assertReset(client);
    assertEquals(EchoServer.End.RESET, server.ends().poll(20, SECONDS));
    assertWorks(connect());
  }

  @Test
  void blackHoleOfRequestsKeepsTheConnectionAndTheServerHearsNothing() throws Exception {
    Socket client = connect();
    assertWorks(client);
    try (NetworkFault hole = proxy.blackHole(CLIENT_TO_SERVER)) {
      send(client, "lost");
      assertTrue(hole.awaitHit(TIMEOUT));
      assertSilent(client);
      assertEquals(5, server.received());
      assertEquals(1, proxy.traffic().open());
    }
    // a stream with a gap must not continue
    assertReset(client);
    assertWorks(connect());
  }

  @Test
  void blackHoleOfRepliesLetsTheServerDoItsWork() throws Exception {
    Socket client = connect();
    try (NetworkFault hole = proxy.blackHole(SERVER_TO_CLIENT)) {
      send(client, "done, unheard");
      assertTrue(hole.awaitHit(TIMEOUT));
      assertEquals(13, server.received());
      assertSilent(client);
      assertEquals(0, proxy.traffic().toClient().forwarded());
      assertNotEquals(0, proxy.traffic().toClient().received());
    }
    assertReset(client);
  }

  @Test
  void blackHoleTakesNewConnectionsIntoSilence() throws Exception {
    try (NetworkFault partition = proxy.partition()) {
      Socket client = connect();
      send(client, "anybody?");
      assertTrue(partition.awaitHit(TIMEOUT));
      assertSilent(client);
      assertEquals(0, server.received());
    }
  }

  @Test
  void blackHoleHidesThatTheClientHasGone() throws Exception {
    Socket polite = connect();
    assertWorks(polite);
    Socket crashed = connect();
    assertWorks(crashed);
    try (NetworkFault partition = proxy.partition()) {
      polite.close();
      crashed.setSoLinger(true, 0);
      crashed.close();
      assertTrue(partition.awaitHits(2, TIMEOUT));
      assertNull(server.ends().poll(), "the server must not learn of it");
      assertEquals(2, proxy.traffic().open());
    }
    assertEquals(EchoServer.End.RESET, server.ends().poll(20, SECONDS));
    assertEquals(EchoServer.End.RESET, server.ends().poll(20, SECONDS));
  }

  @Test
  void aConnectionThatLostNothingOutlivesTheBlackHole() throws Exception {
    Socket client = connect();
    assertWorks(client);
    proxy.partition().close();
    assertWorks(client);
  }

  @Test
  void holdDeliversEverythingInOrderWhenItEnds() throws Exception {
    Socket client = connect();
    assertWorks(client);
    try (NetworkFault hold = proxy.hold(CLIENT_TO_SERVER)) {
      send(client, "one ");
      assertTrue(hold.awaitHits(1, TIMEOUT));
      send(client, "two ");
      assertTrue(hold.awaitHits(2, TIMEOUT));
      client.shutdownOutput();
      assertEquals(5, server.received());
      assertNull(server.ends().poll());
    }
    assertEquals("one two ", new String(client.getInputStream().readAllBytes(), UTF_8));
    assertEquals(EchoServer.End.CLOSED, server.ends().poll(20, SECONDS));
  }

  @Test
  void holdDeliversWhatWasSentBeforeAReset() throws Exception {
    Socket client = connect();
    assertWorks(client);
    long before = server.received();
    try (NetworkFault hold = proxy.hold(CLIENT_TO_SERVER)) {
      send(client, "late");
      assertTrue(hold.awaitHit(TIMEOUT));
      client.setSoLinger(true, 0); // close with a reset
      client.close();
      assertNull(server.ends().poll(100, MILLISECONDS));
    }
    assertNotNull(server.ends().poll(TIMEOUT.toMillis(), MILLISECONDS));
    assertEquals(before + 4, server.received());
  }

  @Test
  void holdOnOpenConnectionsLetsNewOnesOvertake() throws Exception {
    Socket old = connect();
    assertWorks(old);
    try (NetworkFault hold = proxy.holdOpenConnections(CLIENT_TO_SERVER)) {
      send(old, "late");
      assertTrue(hold.awaitHit(TIMEOUT));
      assertSilent(old);
      old.close(); // its client gives up; the bytes are still in flight
      assertWorks(connect());
      assertEquals(10, server.received());
    }
    assertWorks(connect());
    while (server.received() < 19) {
      Thread.onSpinWait();
    }
  }

  @Test
  void silenceOfOpenConnectionsLetsNewOnesWork() throws Exception {
    Socket old = connect();
    assertWorks(old);
    try (NetworkFault silence = proxy.silenceOpenConnections()) {
      send(old, "anybody?");
      assertTrue(silence.awaitHit(TIMEOUT));
      assertSilent(old);
      assertWorks(connect());
    }
    assertReset(old);
  }

  @Test
  void delayMakesEveryByteLateButKeepsTheOrder() throws Exception {
    Socket client = connect();
    Duration latency = Duration.ofMillis(200);
    try (NetworkFault delay = proxy.delay(SERVER_TO_CLIENT, latency)) {
      long start = System.nanoTime();
      StringBuilder sent = new StringBuilder();
      for (int i = 0; i < 50; i++) {
        String word = i + " ";
        send(client, word);
        sent.append(word);
      }
      assertEquals(sent.toString(), receive(client, sent.length()));
      long took = System.nanoTime() - start;
      assertTrue(took >= latency.toNanos(), "took only " + took + " ns");
      assertTrue(delay.hits() > 0);
      while (proxy.traffic().toClient().forwarded() < sent.length()) {
        Thread.onSpinWait(); // counted just after the client has received it
      }
    }
    assertWorks(client);
  }

  @Test
  void whatIsDelayedIsDeliveredAtOnceWhenTheDelayEnds() throws Exception {
    Socket client = connect();
    try (NetworkFault delay = proxy.delay(CLIENT_TO_SERVER, Duration.ofDays(1))) {
      send(client, "late");
      assertTrue(delay.awaitHit(TIMEOUT));
      assertSilent(client);
    }
    assertEquals("late", receive(client, 4));
  }

  @Test
  void delaysAddUpAndEndOneByOne() throws Exception {
    Socket client = connect();
    NetworkFault day = proxy.delay(CLIENT_TO_SERVER, Duration.ofDays(1));
    NetworkFault moment = proxy.delay(CLIENT_TO_SERVER, Duration.ofMillis(1));
    send(client, "late");
    assertTrue(day.awaitHit(TIMEOUT));
    day.close();
    assertEquals("late", receive(client, 4));
    moment.close();
  }

  @Test
  void dropAfterLetsExactlySoManyBytesPassAndCutsThatConnectionOnce() throws Exception {
    Socket bystander = connect();
    assertWorks(bystander);
    Socket client = connect();
    NetworkFault drop = proxy.dropAfter(SERVER_TO_CLIENT, 7);
    assertEquals("12345", echo(client, "12345"));
    assertEquals(0, drop.hits());
    send(client, "67890");
    assertEquals("67", new String(client.getInputStream().readAllBytes(), UTF_8));
    assertEquals(1, drop.hits());
    assertEquals(15, server.received(), "the server got the whole request");

    assertWorks(bystander);
    assertWorks(connect());
    drop.close();
  }

  @Test
  void dropAfterZeroBytesLosesTheNextReplyWhole() throws Exception {
    Socket client = connect();
    assertWorks(client);
    NetworkFault drop = proxy.dropAfter(SERVER_TO_CLIENT, 0);
    send(client, "commit");
    assertEquals(-1, client.getInputStream().read());
    assertEquals(11, server.received());
    assertTrue(drop.awaitHit(TIMEOUT));
  }

  @Test
  void loseAnswerLetsSoManyAnswersPassAndCutsTheConnectionOfTheNext() throws Exception {
    Socket first = connect();
    Socket second = connect();
    assertWorks(first);
    assertWorks(second);
    try (NetworkFault lost = proxy.loseAnswer(2)) {
      assertWorks(first);
      assertWorks(second);
      assertEquals(0, lost.hits());
      send(first, "commit");
      assertEquals(-1, first.getInputStream().read());
      assertTrue(lost.awaitHit(TIMEOUT));
      assertEquals(26, server.received(), "the server got the whole request");
      assertWorks(second);
    }
  }

  @Test
  void loseAnswerPassesWhatAServerSendsUnasked() throws Exception {
    Socket client = connect();
    NetworkFault hold = proxy.hold(SERVER_TO_CLIENT);
    send(client, "news");
    assertTrue(hold.awaitHit(TIMEOUT)); // the answer to a request from before the fault
    try (NetworkFault lost = proxy.loseAnswer(0)) {
      hold.close();
      assertEquals("news", receive(client, 4));
      assertEquals(0, lost.hits());
      send(client, "commit");
      assertEquals(-1, client.getInputStream().read());
    }
  }

  @Test
  void hangUpClosesWhateverIsSpokenOn() throws Exception {
    Socket open = connect();
    assertWorks(open);
    try (NetworkFault hangUp = proxy.hangUp()) {
      for (Socket client : List.of(open, connect())) {
        send(client, "anybody?");
        assertEquals(-1, client.getInputStream().read());
      }
      assertTrue(hangUp.awaitHits(2, TIMEOUT));
      assertEquals(5, server.received(), "nothing was passed on");
    }
    assertWorks(connect());
  }

  @Test
  void loseRepliesStrikesOnlyConnectionsThatCarriedTheText() throws Exception {
    Socket other = connect();
    assertWorks(other);
    Socket client = connect();
    try (NetworkFault lost = proxy.loseReplies("orders/42")) {
      assertEquals("SET orders/41", echo(client, "SET orders/41"));
      assertEquals(0, lost.hits());
      send(client, "SET ordorder");
      assertEquals("SET ordorder", receive(client, 12));
      send(client, "s/42 x"); // the text may be spread over several segments
      assertTrue(lost.awaitHit(TIMEOUT));
      assertSilent(client);
      assertWorks(other);
      assertTrue(lost.toString().contains("struck 1x"), lost::toString);
    }
    assertReset(client);
    assertWorks(other);
  }

  @Test
  void aCutWinsOverASilence() throws Exception {
    Socket client = connect();
    assertWorks(client);
    NetworkFault silence = proxy.blackHole(SERVER_TO_CLIENT);
    proxy.dropAfter(CLIENT_TO_SERVER, 0);
    send(client, "x");
    InputStream in = client.getInputStream();
    assertEquals(-1, in.read());
    assertEquals(0, silence.hits());
  }

  @Test
  void healEndsEverything() throws Exception {
    proxy.partition();
    proxy.refuse();
    proxy.delay(CLIENT_TO_SERVER, Duration.ofDays(1));
    proxy.hold(SERVER_TO_CLIENT);
    proxy.heal();
    assertWorks(connect());
  }

  @Test
  void aFaultThatDidNotHappenSaysSo() throws Exception {
    try (NetworkFault hole = proxy.blackHole(CLIENT_TO_SERVER)) {
      assertFalse(hole.awaitHit(Duration.ofMillis(1)));
      assertEquals(0, hole.hits());
    }
  }

  @Test
  void refusesFaultsThatMakeNoSense() {
    assertThrows(
        IllegalArgumentException.class, () -> proxy.delay(CLIENT_TO_SERVER, Duration.ZERO));
    assertThrows(IllegalArgumentException.class, () -> proxy.dropAfter(CLIENT_TO_SERVER, -1));
    assertThrows(IllegalArgumentException.class, () -> proxy.loseReplies(""));
  }

  @Test
  void closingEndsItsThreadClosesConnectionsAndFreesThePort() throws Exception {
    Socket client = connect();
    assertWorks(client);
    NetworkFault refuse = proxy.refuse();
    String name = "fault-proxy-" + proxy.port();
    proxy.close();
    proxy.close();
    refuse.close();
    assertTrue(
        Thread.getAllStackTraces().keySet().stream().noneMatch(t -> t.getName().equals(name)));
    assertEquals(-1, client.getInputStream().read());
    assertThrows(ConnectException.class, this::connect);
    assertThrows(IllegalStateException.class, proxy::partition);
  }

  @Test
  void sleepsWhileNothingHappens() throws Exception {
    Socket client = connect();
    assertWorks(client);
    Thread thread =
        Thread.getAllStackTraces().keySet().stream()
            .filter(t -> t.getName().equals("fault-proxy-" + proxy.port()))
            .findAny()
            .orElseThrow();
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    try (NetworkFault hold = proxy.hold(CLIENT_TO_SERVER)) {
      send(client, "held back");
      assertTrue(hold.awaitHit(TIMEOUT));
      // The first period may still include work of the last order. A proxy that waits busily uses
      // the
      // processor in every period, so the test times out.
      long used;
      do {
        long before = threads.getThreadCpuTime(thread.getId());
        assertSilent(client);
        used = threads.getThreadCpuTime(thread.getId()) - before;
      } while (used > 0);
    }
  }

  @Test
  void nobodyElseIsGivenThePortThatItRefusesOn() throws Exception {
    try (NetworkFault refuse = proxy.refuse();
        ServerSocket other = new ServerSocket()) {
      other.setReuseAddress(false);
      assertThrows(BindException.class, () -> other.bind(proxy.address()), refuse::toString);
    }
  }
}
