package dev.interlock.tck.fault;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * A proxy in front of one Redis server that answers commands with errors, as the server would, and
 * does not forward them. All other commands of the same connection are executed. Requests and
 * replies stay in step: an error waits until the earlier requests have been answered.
 *
 * <p>An error for {@code EXEC} also ends the transaction on the server, as a real one would. The
 * proxy gives no errors for other commands in a transaction, nor on a connection whose number of
 * replies is unpredictable. It forwards other protocols unchanged.
 */
final class RedisErrorProxy implements AutoCloseable {
  private static final int CONNECT_MILLIS = 5_000;
  private static final int FIRST_BYTE_POLL_MILLIS = 20;
  private static final int TLS_HANDSHAKE = 22;
  private static final Set<String> CONFIRMED_EACH =
      Set.of(
          "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE");

  /** The notifications of version 2 of the protocol, which has no pushes. */
  private static final Set<String> MESSAGES = Set.of("MESSAGE", "PMESSAGE", "SMESSAGE");

  private static final RespFrame DISCARD = RespFrame.request(List.of("DISCARD"));

  private final InetSocketAddress upstream;
  private final ServerSocket listener;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private final List<RedisErrors.Answers> active = new CopyOnWriteArrayList<>();
  private volatile boolean speaksRedis;
  private volatile boolean encrypted;

  RedisErrorProxy(InetSocketAddress upstream) throws IOException {
    this.upstream = upstream;
    this.listener = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
    start("accept", this::accept);
  }

  InetSocketAddress address() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), listener.getLocalPort());
  }

  /** {@return whether a client has sent a request of the Redis protocol} */
  boolean speaksRedis() {
    return speaksRedis;
  }

  /** {@return whether a client has started a TLS handshake} */
  boolean encrypted() {
    return encrypted;
  }

  void begin(RedisErrors.Answers answers) {
    active.add(answers);
  }

  void end(RedisErrors.Answers answers) {
    active.remove(answers);
  }

  private void start(String what, Runnable work) {
    Thread thread = new Thread(work, "redis-errors-" + what + "-" + listener.getLocalPort());
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket client = listener.accept();
        sockets.add(client);
        start("requests", () -> serve(client));
      } catch (IOException e) {
        // closed, or the client has disconnected already
      }
    }
  }

  private void serve(Socket client) {
    try (client;
        Socket server = new Socket()) {
      sockets.add(server);
      client.setTcpNoDelay(true);
      server.setTcpNoDelay(true);
      server.connect(upstream, CONNECT_MILLIS);
      new Conversation(client, server).carryRequests();
    } catch (IOException e) {
      // one side closed its connection, so the other one is closed as well
    }
  }

  /** One connection. Replies are written under the monitor. */
  private final class Conversation {
    private final Socket client;
    private final Socket server;
    private final InputStream requests;
    private final InputStream replies;
    private final OutputStream toClient;
    private final OutputStream toServer;

    /** The replies to come, in order. */
    private final Deque<Due> due = new ArrayDeque<>();

    private boolean subscribed;
    private boolean inTransaction;

    /** Whether the connection gets no further errors; those that are due still come. */
    private boolean leftAlone;

    Conversation(Socket client, Socket server) throws IOException {
      this.client = client;
      this.server = server;
      this.requests = new BufferedInputStream(client.getInputStream());
      this.replies = new BufferedInputStream(server.getInputStream());
      this.toClient = client.getOutputStream();
      this.toServer = server.getOutputStream();
    }

    void carryRequests() throws IOException {
      int first = firstByte();
      if (first != '*') {
        encrypted |= first == TLS_HANDSHAKE;
        start("bytes", () -> carry(replies, toClient));
        requests.transferTo(toServer);
        return;
      }
      speaksRedis = true;
      start("replies", this::carryReplies);
      while (true) {
        RespFrame request = toSend(RespFrame.read(requests));
        if (request != null) {
          request.writeTo(toServer);
        }
      }
    }

    /** {@return what the client begins with; -1 if it ends, or if the server speaks first} */
    private int firstByte() throws IOException {
      requests.mark(1);
      client.setSoTimeout(FIRST_BYTE_POLL_MILLIS);
      try {
        while (true) {
          try {
            int first = requests.read();
            requests.reset();
            return first;
          } catch (SocketTimeoutException e) {
            if (replies.available() > 0) {
              return -1;
            }
          }
        }
      } finally {
        client.setSoTimeout(0);
      }
    }

    /** {@return what to send to the server for a request; null if nothing} */
    private synchronized @Nullable RespFrame toSend(RespFrame request) throws IOException {
      String command = request.command();
      boolean exec = command.equals("EXEC");
      inTransaction = command.equals("MULTI") || (inTransaction && !exec);
      int expected = 1;
      if (CONFIRMED_EACH.contains(command)) {
        expected = request.words().size() - 1;
      }
      leftAlone |= expected == 0 || command.equals("MONITOR") || isClientReply(request);
      // with a subscription in it, EXEC has more than one reply
      leftAlone |= inTransaction && CONFIRMED_EACH.contains(command);
      if (!leftAlone && !inTransaction) {
        for (RedisErrors.Answers answers : active) {
          if (answers.isNext()) {
            String error = answers.error().answerTo(request.words().get(0), address());
            due.add(new Due(exec ? 1 : 0, error));
            sendDueErrors();
            return exec ? DISCARD : null;
          }
        }
      }
      inTransaction &= !command.equals("DISCARD") && !command.equals("RESET");
      subscribed |= CONFIRMED_EACH.contains(command);
      if (!leftAlone) {
        due.add(new Due(expected, null));
      }
      return request;
    }

    private static boolean isClientReply(RespFrame request) {
      return request.command().equals("CLIENT")
          && request.words().size() > 1
          && request.words().get(1).equalsIgnoreCase("REPLY");
    }

    private void carryReplies() {
      try {
        while (true) {
          pass(RespFrame.read(replies));
        }
      } catch (IOException e) {
        closeBoth();
      }
    }

    private synchronized void pass(RespFrame reply) throws IOException {
      Due next = isNotification(reply) ? null : due.poll();
      if (next == null || next.error == null) {
        reply.writeTo(toClient);
      }
      if (next != null) {
        // an error answers the whole command
        due.addFirst(new Due(reply.isError() ? 0 : next.replies - 1, next.error));
        sendDueErrors();
      }
    }

    private boolean isNotification(RespFrame reply) {
      return reply.isPush()
          ? !CONFIRMED_EACH.contains(reply.command())
          : subscribed && reply.isArray() && MESSAGES.contains(reply.command());
    }

    private void sendDueErrors() throws IOException {
      while (!due.isEmpty() && due.peek().replies == 0) {
        String error = due.remove().error;
        if (error != null) {
          toClient.write(("-" + error + "\r\n").getBytes(UTF_8));
        }
      }
    }

    private void carry(InputStream from, OutputStream to) {
      try {
        from.transferTo(to);
      } catch (IOException e) {
        // the other side is closed below
      }
      closeBoth();
    }

    private void closeBoth() {
      RedisErrorProxy.close(client);
      RedisErrorProxy.close(server);
    }
  }

  /** A number of replies from the server, or an error in their place. */
  private record Due(int replies, @Nullable String error) {}

  private static void close(AutoCloseable resource) {
    try {
      resource.close();
    } catch (Exception e) {
      // the socket is closed even if close fails
    }
  }

  @Override
  public void close() {
    close(listener);
    sockets.forEach(RedisErrorProxy::close);
  }
}
