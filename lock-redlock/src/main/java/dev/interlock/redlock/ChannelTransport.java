package dev.interlock.redlock;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.interlock.redlock.NodePipeline.Call;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.RedisInputStream;

/** Need not block, so that one thread can wait for several nodes. */
final class ChannelTransport extends NodeTransport {

  /** In place of a reply that has not arrived completely. */
  static final Object NOT_YET = new Object();

  private static final byte[] EVAL = "EVAL".getBytes(US_ASCII);
  private static final byte[] EVALSHA = "EVALSHA".getBytes(US_ASCII);

  private final ChannelConnection connection;
  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;
  private @Nullable SelectionKey sharedKey;
  private ByteBuffer out = ByteBuffer.allocate(1024);
  private byte[] in = new byte[1024];
  private int begin;
  private int end;

  ChannelTransport(ChannelConnection connection) {
    this.connection = connection;
    this.channel = connection.channel();
    Selector made = null;
    try {
      channel.configureBlocking(false);
      made = Selector.open();
      this.selector = made;
      this.key = channel.register(made, SelectionKey.OP_READ);
    } catch (IOException e) {
      closeQuietly(made);
      throw new JedisConnectionException(e);
    }
  }

  // --- writing ----------------------------------------------------------------------------------

  @Override
  void write(Call call, boolean withSource) {
    List<byte[]> keys = call.keys();
    List<byte[]> arguments = call.arguments();
    number('*', 3 + keys.size() + arguments.size());
    part(withSource ? EVAL : EVALSHA);
    part(withSource ? call.script().source() : call.script().digest());
    part(Cluster.number(keys.size()));
    for (byte[] each : keys) {
      part(each);
    }
    for (byte[] each : arguments) {
      part(each);
    }
  }

  private void part(byte[] bytes) {
    number('$', bytes.length);
    room(bytes.length + 2).put(bytes).put((byte) '\r').put((byte) '\n');
  }

  private void number(char type, int number) {
    ByteBuffer to = room(14).put((byte) type);
    int unit = 1;
    while (number / unit >= 10) {
      unit *= 10;
    }
    for (; unit > 0; unit /= 10) {
      to.put((byte) ('0' + number / unit % 10));
    }
    to.put((byte) '\r').put((byte) '\n');
  }

  private ByteBuffer room(int bytes) {
    if (out.remaining() < bytes) {
      int size = Math.max(out.capacity() * 2, out.position() + bytes);
      out = ByteBuffer.allocate(size).put(out.flip());
    }
    return out;
  }

  /** Writes what the socket takes without blocking; returns whether that was all. */
  boolean flush() throws IOException {
    if (out.position() > 0) {
      out.flip();
      try {
        channel.write(out);
      } finally {
        out.compact();
      }
    }
    return out.position() == 0;
  }

  // --- reading ----------------------------------------------------------------------------------

  /** Reads what has arrived, without blocking; returns whether anything had. */
  boolean fill() throws IOException {
    if (end == in.length) {
      if (begin == 0) {
        in = Arrays.copyOf(in, 2 * in.length);
      } else {
        System.arraycopy(in, begin, in, 0, end - begin);
        end -= begin;
        begin = 0;
      }
    }
    int count = channel.read(ByteBuffer.wrap(in, end, in.length - end));
    if (count < 0) {
      throw new JedisConnectionException("Unexpected end of stream.");
    }
    end += count;
    return count > 0;
  }

  /** Returns the next reply, or {@link #NOT_YET} until all of it has been read. */
  @SuppressWarnings("deprecation") // The other form takes consumers of push messages.
  Object next() {
    int next = endOfReply();
    if (next < 0) {
      return NOT_YET;
    }
    int size = next - begin;
    var reply = new RedisInputStream(new ByteArrayInputStream(in, begin, size), size);
    begin = next;
    if (begin == end) {
      begin = 0;
      end = 0;
    }
    try {
      return Protocol.read(reply);
    } catch (JedisDataException e) {
      return e;
    }
  }

  /** Returns where the first reply ends; -1 if its end has not been read. */
  private int endOfReply() {
    int at = begin;
    for (long missing = 1; missing > 0; missing--) {
      int line = at;
      while (line < end && in[line] != '\n') {
        line++;
      }
      if (line == end) {
        return -1;
      }
      int next = line + 1;
      switch (in[at]) {
        case '$' -> {
          long size = number(at + 1);
          if (size >= 0 && next + size + 2 > end) {
            return -1;
          }
          next += size < 0 ? 0 : (int) size + 2;
        }
        case '*' -> missing += Math.max(0, number(at + 1));
        default -> {}
      }
      at = next;
    }
    return at;
  }

  private long number(int at) {
    if (in[at] == '-') {
      return -1;
    }
    long number = 0;
    for (int i = at; in[i] >= '0' && in[i] <= '9'; i++) {
      number = 10 * number + in[i] - '0';
    }
    return number;
  }

  @Override
  Object read(int timeoutMillis) {
    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    try {
      while (true) {
        boolean sent = flush();
        Object reply = next();
        if (reply != NOT_YET) {
          return reply;
        }
        if (fill()) {
          continue;
        }
        long left = until - System.nanoTime();
        if (left <= 0) {
          throw new SocketTimeoutException("Read timed out");
        }
        key.interestOps(sent ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE);
        selector.select(any -> {}, TimeUnit.NANOSECONDS.toMillis(left) + 1);
      }
    } catch (IOException | ClosedSelectorException | CancelledKeyException e) {
      throw new JedisConnectionException(e);
    }
  }

  // --- waiting for several nodes ----------------------------------------------------------------

  /** Registers with a selector that the nodes share. */
  void listenOn(Selector shared, NodePipeline pipeline) throws IOException {
    SelectionKey present = sharedKey;
    if (present == null) {
      sharedKey = channel.register(shared, SelectionKey.OP_READ, pipeline);
    } else if (present.interestOps() == 0) {
      present.interestOps(SelectionKey.OP_READ);
    }
  }

  void stopListening() {
    if (sharedKey != null) {
      ignore(sharedKey);
    }
  }

  static void ignore(SelectionKey key) {
    try {
      key.interestOps(0);
    } catch (CancelledKeyException | ClosedSelectorException e) {
      // The connection or the client is being closed.
    }
  }

  @Override
  void close() {
    disconnect(connection);
    closeQuietly(selector);
  }

  private static void closeQuietly(@Nullable Selector selector) {
    try {
      if (selector != null) {
        selector.close();
      }
    } catch (IOException e) {
      throw new JedisConnectionException(e);
    }
  }
}
