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
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * A proxy in front of one Redis server. It answers some commands with errors, as the server would,
 * without forwarding them. The other commands of the connection are executed, and replies keep the
 * order of their requests: an error waits until earlier requests have been answered.
 *
 * <p>An error for {@code EXEC} also ends the transaction on the server, as a real error would.
 * Other commands in a transaction get no errors, and connections whose number of replies is
 * unpredictable get none at all. The proxy forwards other protocols unchanged.
 */
final class RedisErrorProxy implements AutoCloseable {
  private static final int CONNECT_MILLIS = 5_000;
  private static final int FIRST_BYTE_POLL_MILLIS = 20;
  private static final int TLS_HANDSHAKE = 22;
  private static final Set<String> CONFIRMED_EACH =
      Set.of(
          "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE");

  /** Notifications in version 2 of the protocol, which has no push type. */
  private static final Set<String> MESSAGES = Set.of("MESSAGE", "PMESSAGE", "SMESSAGE");

  private static final RespFrame DISCARD = RespFrame.request(List.of("DISCARD"));

  private final InetSocketAddress upstream;
  private final ServerSocket listener;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private final List<RedisErrors.Answers> active = new CopyOnWriteArrayList<>();
  private volatile boolean speaksRedis;
  private volatile boolean encrypted;

  /**
   * The digests of the scripts that were sent since the others were forgotten; null before that.
   */
  private volatile @Nullable Set<String> knownScripts;

  private volatile boolean refusedDigests;

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

  void forgetScripts() {
    knownScripts = ConcurrentHashMap.newKeySet();
  }

  boolean refusedDigests() {
    return refusedDigests;
  }

  /** {@return whether a request has the digest of a forgotten script} */
  private boolean isForgotten(RespFrame request) {
    Set<String> scripts = knownScripts;
    List<String> words = request.words();
    if (scripts == null || words.size() < 2) {
      return false;
    }
    switch (request.command()) {
      case "EVAL", "EVAL_RO" -> scripts.add(digest(words.get(1)));
      case "SCRIPT" -> words.stream().skip(2).map(RedisErrorProxy::digest).forEach(scripts::add);
      case "EVALSHA", "EVALSHA_RO" -> {
        boolean forgotten = !scripts.contains(words.get(1).toLowerCase(Locale.ROOT));
        refusedDigests |= forgotten;
        return forgotten;
      }
      default -> {}
    }
    return false;
  }

  private static String digest(String script) {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-1").digest(script.getBytes(UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
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
      new Conversation(client, server).forwardRequests();
    } catch (IOException e) {
      // one side closed its connection, so the other one is closed as well
    }
  }

  /** One client connection. Replies are written under its monitor. */
  private final class Conversation {
    private final Socket client;
    private final Socket server;
    private final InputStream requests;
    private final InputStream replies;
    private final OutputStream toClient;
    private final OutputStream toServer;

    /** The replies that are still to come, in order. */
    private final Deque<PendingReply> due = new ArrayDeque<>();

    private boolean subscribed;
    private boolean inTransaction;

    /** Whether this connection gets no further errors. */
    private boolean exempt;

    Conversation(Socket client, Socket server) throws IOException {
      this.client = client;
      this.server = server;
      this.requests = new BufferedInputStream(client.getInputStream());
      this.replies = new BufferedInputStream(server.getInputStream());
      this.toClient = client.getOutputStream();
      this.toServer = server.getOutputStream();
    }

    void forwardRequests() throws IOException {
      int first = firstByte();
      if (first != '*') {
        encrypted |= first == TLS_HANDSHAKE;
        start("bytes", () -> forward(replies, toClient));
        requests.transferTo(toServer);
        return;
      }
      speaksRedis = true;
      start("replies", this::forwardReplies);
      while (true) {
        RespFrame request = toSend(RespFrame.read(requests));
        if (request != null) {
          request.writeTo(toServer);
        }
      }
    }

    /** {@return the client's first byte; -1 if there is none, or if the server speaks first} */
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

    /** {@return the frame to send to the server for a request; null for none} */
    private synchronized @Nullable RespFrame toSend(RespFrame request) throws IOException {
      String command = request.command();
      boolean exec = command.equals("EXEC");
      inTransaction = command.equals("MULTI") || (inTransaction && !exec);
      int expected = 1;
      if (CONFIRMED_EACH.contains(command)) {
        expected = request.words().size() - 1;
      }
      exempt |= expected == 0 || command.equals("MONITOR") || isClientReply(request);
      // an EXEC with a subscription in it has more than one reply
      exempt |= inTransaction && CONFIRMED_EACH.contains(command);
      if (!exempt && !inTransaction) {
        if (isForgotten(request)) {
          due.add(new PendingReply(0, "NOSCRIPT No matching script. Please use EVAL."));
          sendDueErrors();
          return null;
        }
        for (RedisErrors.Answers answers : active) {
          if (answers.isNext()) {
            String error = answers.error().answerTo(request.words().get(0), address());
            due.add(new PendingReply(exec ? 1 : 0, error));
            sendDueErrors();
            return exec ? DISCARD : null;
          }
        }
      }
      inTransaction &= !command.equals("DISCARD") && !command.equals("RESET");
      subscribed |= CONFIRMED_EACH.contains(command);
      if (!exempt) {
        due.add(new PendingReply(expected, null));
      }
      return request;
    }

    private static boolean isClientReply(RespFrame request) {
      return request.command().equals("CLIENT")
          && request.words().size() > 1
          && request.words().get(1).equalsIgnoreCase("REPLY");
    }

    private void forwardReplies() {
      try {
        while (true) {
          pass(RespFrame.read(replies));
        }
      } catch (IOException e) {
        closeBoth();
      }
    }

    private synchronized void pass(RespFrame reply) throws IOException {
      PendingReply next = isNotification(reply) ? null : due.poll();
      if (next == null || next.error == null) {
        reply.writeTo(toClient);
      }
      if (next != null) {
        // an error answers the whole command
        due.addFirst(new PendingReply(reply.isError() ? 0 : next.replies - 1, next.error));
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

    private void forward(InputStream from, OutputStream to) {
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

  /** A number of replies from the server, and the error that replaces them. */
  private record PendingReply(int replies, @Nullable String error) {}

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
