package dev.interlock.redis;

import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.Script;
import dev.interlock.redis.server.ScriptCall;
import dev.interlock.spi.Deadline;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.BuilderFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.exceptions.JedisAskDataException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisMovedDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.exceptions.JedisRedirectionException;

/**
 * One connection, borrowed for one talk. Throws Jedis's own exceptions.
 *
 * <p>Uses {@link Connection} rather than a client, so that several requests go over one connection,
 * and no request is sent twice without our knowledge.
 */
final class Wire {

  private static final Pattern PROCESS = Pattern.compile("^run_id:(\\w+)", Pattern.MULTILINE);

  /**
   * One call of a script.
   *
   * @param unanswered the number of times that it was sent and its reply not read
   */
  record Call(ScriptCall call, LockKeys keys, AtomicInteger unanswered) {
    Call(ScriptCall call, LockKeys keys) {
      this(call, keys, new AtomicInteger());
    }

    Call(Script script, LockKeys keys, byte[]... arguments) {
      this(new ScriptCall(script, keys.of(script), List.of(arguments)), keys);
    }

    /** Whether the script may have been executed by a request whose reply was not read. */
    boolean isInDoubt() {
      return unanswered.get() > 0;
    }

    /** Returns the call to send, and counts it as sent. */
    ScriptCall toSend() {
      unanswered.incrementAndGet();
      return call;
    }

    void recordAnswer() {
      unanswered.decrementAndGet();
    }

    /** Returns the call that undoes this one; null if it needs no undo. */
    @Nullable Call undo() {
      List<byte[]> lock = List.of(keys.lock());
      if (call.script() == Script.ACQUIRE) {
        return new Call(new ScriptCall(Script.RELEASE, lock, call.arguments().subList(0, 1)), keys);
      }
      return call.script() == Script.SHARE_ACQUIRE
          ? new Call(
              new ScriptCall(Script.SHARE_RELEASE, lock, call.arguments().subList(0, 5)), keys)
          : null;
    }
  }

  private final Connection connection;
  private final Deadline deadline;
  private final boolean asking;
  private final int socketTimeout;

  private int unreadReplies;

  /** Whether another server may have taken this one's place, according to a reply. */
  private boolean outOfService;

  private Wire(Connection connection, Deadline deadline, boolean asking, int socketTimeout) {
    this.connection = connection;
    this.deadline = deadline;
    this.asking = asking;
    this.socketTimeout = socketTimeout;
  }

  /**
   * Talks over a connection. Each read is limited by the deadline and by the connection's own
   * time-out, which is restored in the end.
   *
   * <p>Marks the connection as broken if a reply was not read, because the next request would take
   * that reply for its own. Does the same if the server is {@linkplain Failures#isOutOfService out
   * of service}.
   *
   * @param asking whether the node is importing the keys' slot, and serves it only after {@code
   *     ASKING}
   */
  static <T> T talk(Connection connection, Deadline deadline, boolean asking, Nodes.Talk<T> talk) {
    int socketTimeout = connection.getSoTimeout();
    Wire wire = new Wire(connection, deadline, asking, socketTimeout);
    wire.limitToDeadline();
    try {
      return talk.over(wire);
    } finally {
      if (wire.unreadReplies > 0 || wire.outOfService) {
        connection.setBroken();
      }
      if (!connection.isBroken()) {
        connection.setSoTimeout(socketTimeout);
      }
    }
  }

  /** Sets the socket's time-out, which limits one read, to the time until the deadline. */
  private void limitToDeadline() {
    // Rounded up, because 0 means no time-out.
    long remaining = TimeUnit.NANOSECONDS.toMillis(Math.max(0, deadline.remainingNanos())) + 1;
    if (socketTimeout == 0 || remaining < socketTimeout) {
      connection.setSoTimeout((int) Math.min(remaining, Integer.MAX_VALUE));
    }
  }

  /** Runs a script, and sends its source if the server does not know it. */
  Object run(Call call) {
    Object reply = exchange(call, false);
    if (reply instanceof JedisNoScriptException) {
      reply = exchange(call, true);
    }
    if (reply instanceof JedisDataException e) {
      throw e;
    }
    return reply;
  }

  private Object exchange(Call call, boolean withSource) {
    if (!asking) {
      send(call, withSource);
      return read(call);
    }
    send(new CommandArguments(Command.ASKING));
    send(call, withSource);
    Object permission = read();
    Object reply = read(call);
    // If ASKING was refused, the redirection is a consequence of that.
    return reply instanceof JedisRedirectionException && permission instanceof JedisDataException
        ? permission
        : reply;
  }

  private void send(CommandArguments command) {
    unreadReplies++; // before sending, because a command may be sent partly
    connection.sendCommand(command);
  }

  /** Waits for the next reply until the deadline. */
  private Object next() {
    limitToDeadline();
    try {
      Object reply = connection.getOne();
      unreadReplies--;
      return reply;
    } catch (JedisRedirectionException e) {
      unreadReplies--;
      throw e.getTargetNode().getHost().isEmpty() ? toThisHost(e) : e;
    } catch (JedisDataException e) {
      unreadReplies--;
      outOfService |= Failures.isOutOfService(e);
      throw e;
    }
  }

  /** Adds the host that the node left out: its own. */
  private JedisRedirectionException toThisHost(JedisRedirectionException e) {
    HostAndPort target = new HostAndPort(address().getHost(), e.getTargetNode().getPort());
    return e instanceof JedisAskDataException
        ? new JedisAskDataException(e.getMessage(), e, target, e.getSlot())
        : new JedisMovedDataException(e.getMessage(), e, target, e.getSlot());
  }

  /**
   * Runs scripts. All are sent before the first reply is read.
   *
   * @return for each the reply, or the {@link JedisDataException} that the server replied with
   */
  List<Object> runAll(List<Call> calls) {
    if (asking) {
      return calls.stream().map(this::runAsking).toList();
    }
    List<Object> replies = exchange(calls, false);
    List<Call> unknown = new ArrayList<>();
    for (int i = 0; i < replies.size(); i++) {
      if (replies.get(i) instanceof JedisNoScriptException) {
        unknown.add(calls.get(i));
      }
    }
    Iterator<Object> repeated = exchange(unknown, true).iterator();
    replies.replaceAll(reply -> reply instanceof JedisNoScriptException ? repeated.next() : reply);
    return replies;
  }

  private List<Object> exchange(List<Call> calls, boolean withSource) {
    calls.forEach(call -> send(call, withSource));
    List<Object> replies = new ArrayList<>(calls.size());
    calls.forEach(call -> replies.add(read(call)));
    return replies;
  }

  private Object read(Call call) {
    Object reply = read();
    call.recordAnswer();
    return reply;
  }

  private Object read() {
    try {
      return next();
    } catch (JedisDataException e) {
      return e;
    }
  }

  private Object runAsking(Call call) {
    try {
      return run(call);
    } catch (JedisDataException e) {
      return e;
    }
  }

  /**
   * Waits until replicas have confirmed the writes of this connection.
   *
   * @return the number of replicas that have confirmed
   */
  long awaitReplicas(int wanted, long millis) {
    send(new CommandArguments(Command.WAIT).add(wanted).add(millis));
    return (Long) next();
  }

  /** Returns the server's name, version, mode and role; throws on servers before 6.2. */
  Map<String, Object> hello() {
    send(new CommandArguments(Command.HELLO));
    return BuilderFactory.ENCODED_OBJECT_MAP.build(next());
  }

  /** Returns the id of the server's process; empty if the user may not ask for it. */
  String process() {
    send(new CommandArguments(Command.INFO).add("server"));
    if (!(read() instanceof byte[] info)) {
      return "";
    }
    Matcher process = PROCESS.matcher(text(info));
    return process.find() ? process.group(1) : "";
  }

  /** Returns true if the server answers, and throws otherwise. */
  boolean ping() {
    send(new CommandArguments(Command.PING));
    next();
    return true;
  }

  List<?> slots() {
    send(new CommandArguments(Command.CLUSTER).add("SLOTS"));
    return (List<?>) next();
  }

  /**
   * Returns one page of keys of a primary. Throws on a replica, which may lack locks that its
   * primary has granted.
   *
   * @param cursor "0" at first
   */
  Nodes.Keys scan(String pattern, String cursor, int count) {
    send(
        new CommandArguments(Command.SCAN)
            .add(cursor)
            .add("MATCH")
            .add(pattern)
            .add("COUNT")
            .add(count));
    send(new CommandArguments(Command.HELLO));
    Object found = read();
    Object server = read();
    if (found instanceof JedisDataException e) {
      throw e;
    }
    if (!(server instanceof JedisDataException)
        && "replica".equals(BuilderFactory.ENCODED_OBJECT_MAP.build(server).get("role"))) {
      outOfService = true;
      throw new JedisDataException("READONLY replicas are not listed");
    }
    List<?> reply = (List<?>) found;
    String next = text(reply.get(0));
    List<byte[]> keys = ((List<?>) reply.get(1)).stream().map(key -> (byte[]) key).toList();
    return new Nodes.Keys(keys, next.equals("0") ? null : next);
  }

  HostAndPort address() {
    return connection.getHostAndPort();
  }

  /** Whether the connection has no time-out. */
  boolean waitsWithoutLimit() {
    return socketTimeout == 0;
  }

  private void send(Call call, boolean withSource) {
    ScriptCall sent = call.toSend();
    send(sent.script().command(withSource, sent.keys(), sent.arguments()));
  }

  static String text(Object reply) {
    return new String((byte[]) reply, StandardCharsets.UTF_8);
  }
}
