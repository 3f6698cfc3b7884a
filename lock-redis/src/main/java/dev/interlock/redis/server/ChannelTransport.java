package dev.interlock.redis.server;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.RedisInputStream;
import redis.clients.jedis.util.RedisOutputStream;

/** A transport over a channel, so that one thread can wait for several servers. */
final class ChannelTransport extends Transport {

  private final OwnConnection connection;
  private final SocketChannel channel;
  private final SelectionKey key;
  private final ByteArrayOutputStream encoded = new ByteArrayOutputStream(1024);
  private final RedisOutputStream encoder = new RedisOutputStream(encoded, 1024);

  /** The bytes that the socket has not accepted yet. The encoded calls follow them. */
  private ByteBuffer out = ByteBuffer.allocate(0);

  private byte[] in = new byte[1024];
  private int begin;
  private int end;
  private boolean ready;

  ChannelTransport(OwnConnection connection, SocketChannel channel, Selector selector)
      throws IOException {
    this.connection = connection;
    this.channel = channel;
    channel.configureBlocking(false);
    this.key = channel.register(selector, SelectionKey.OP_READ, this);
  }

  /** Called when the selector has selected the channel. */
  void recordReady() {
    ready = true;
  }

  @Override
  void write(ScriptCall call, boolean withSource) {
    Protocol.sendCommand(encoder, call.script().command(withSource, call.keys(), call.arguments()));
  }

  @Override
  void flush() throws IOException {
    encoder.flush();
    if (!out.hasRemaining() && encoded.size() > 0) {
      out = ByteBuffer.wrap(encoded.toByteArray());
      encoded.reset();
    }
    if (out.hasRemaining()) {
      channel.write(out);
      boolean sent = !out.hasRemaining() && encoded.size() == 0;
      key.interestOps(sent ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE);
    }
  }

  @Override
  boolean isReady() {
    return ready;
  }

  @Override
  Object next() throws IOException {
    Object reply = buffered();
    if (reply == NOT_YET && ready) {
      fill();
      ready = false;
      reply = buffered();
    }
    return reply;
  }

  /** Reads the bytes that have arrived, without blocking. */
  private void fill() throws IOException {
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
  }

  /** Returns the next reply, or {@link #NOT_YET} if it has not been read completely. */
  @SuppressWarnings("deprecation") // The other form takes consumers of push messages.
  private Object buffered() {
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

  /** Returns the index after the first reply; -1 if the end of the reply has not been read. */
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
  void close() {
    key.cancel();
    disconnect(connection);
  }
}
