package dev.interlock.tck.fault;

import java.io.IOException;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/**
 * A client's connection to the proxy, and the proxy's connection to the server for it. Only the
 * proxy's thread uses it.
 */
final class Link {
  private final Faults faults;
  private final SocketChannel client;
  private final SocketChannel server;
  private final SelectionKey clientKey;
  private final SelectionKey serverKey;
  private final Pipe up;
  private final Pipe down;
  private boolean connected;
  private boolean redirected;
  private boolean closed;

  Link(Faults faults, SocketChannel client, SocketChannel server, Selector selector)
      throws IOException {
    this.faults = faults;
    this.client = client;
    this.server = server;
    this.up = new Pipe(faults, this, Direction.CLIENT_TO_SERVER, client, server);
    this.down = new Pipe(faults, this, Direction.SERVER_TO_CLIENT, server, client);
    this.clientKey = client.register(selector, 0, this);
    this.serverKey = server.register(selector, SelectionKey.OP_CONNECT, this);
  }

  boolean closed() {
    return closed;
  }

  /** {@return whether the link lost bytes, so that it must be reset when its faults end} */
  boolean lossy() {
    return up.lossy() || down.lossy();
  }

  /** {@return whether a fault redirected the link to another server} */
  boolean redirected() {
    return redirected;
  }

  /** Starts to connect to the server. If the server refuses, resets the client's connection. */
  void connect(SocketAddress address, boolean elsewhere) {
    redirected = elsewhere;
    try {
      if (server.connect(address)) {
        connected = true;
      }
    } catch (IOException e) {
      reset();
    }
  }

  /** Connects or reads, as the selected key says. */
  void ready(SelectionKey key, ByteBuffer scratch, long now) {
    if (closed || !key.isValid()) {
      return;
    }
    if (key.isConnectable()) {
      try {
        connected = server.finishConnect();
      } catch (IOException e) {
        reset(); // the server refuses, but the client is connected already
        return;
      }
    }
    if (key.isReadable()) {
      Pipe pipe = key == clientKey ? up : down;
      try {
        pipe.fill(scratch, now);
      } catch (IOException e) {
        onReset(pipe);
      }
    }
  }

  /** Writes the bytes that are due, and updates the selector's interests. */
  void pump(long now) {
    if (closed || !connected) {
      return;
    }
    flush(up, down, now);
    flush(down, up, now);
    if (!closed && up.finished() && down.finished()) {
      close();
    }
    if (!closed) {
      updateInterest(clientKey, up, down);
      updateInterest(serverKey, down, up);
    }
  }

  private void flush(Pipe pipe, Pipe opposite, long now) {
    if (closed) {
      return;
    }
    try {
      pipe.flush(now);
    } catch (IOException e) {
      onReset(opposite);
    }
  }

  private static void updateInterest(SelectionKey key, Pipe from, Pipe to) {
    if (key.isValid()) {
      int ops = from.wantsToRead() ? SelectionKey.OP_READ : 0;
      ops |= to.wantsToWrite() ? SelectionKey.OP_WRITE : 0;
      if (key.interestOps() != ops) {
        key.interestOps(ops);
      }
    }
  }

  long dueIn(long now) {
    return connected && !closed ? Math.min(up.dueIn(now), down.dueIn(now)) : Long.MAX_VALUE;
  }

  void deliverWithoutDelay(long now) {
    up.deliverWithoutDelay(now);
    down.deliverWithoutDelay(now);
  }

  /** Handles a reset, by its peer, of the socket that {@code pipe} reads from. */
  private void onReset(Pipe pipe) {
    Direction direction = pipe == up ? Direction.CLIENT_TO_SERVER : Direction.SERVER_TO_CLIENT;
    Pipe opposite = pipe == up ? down : up;
    if (faults.hidesEnd(this, direction)) {
      pipe.dropSourceSilently();
      opposite.dropSinkSilently();
    } else if (pipe.holdsBytes()) {
      // the bytes that were sent before the reset still arrive
      pipe.cutAfterQueuedBytes();
      opposite.dropSink();
    } else {
      reset();
      return;
    }
    closeQuietly(pipe == up ? client : server);
  }

  void close() {
    closed = true;
    closeQuietly(client);
    closeQuietly(server);
  }

  /** Closes both connections by a TCP reset. */
  void reset() {
    closed = true;
    for (SocketChannel channel : new SocketChannel[] {client, server}) {
      try {
        channel.setOption(StandardSocketOptions.SO_LINGER, 0);
      } catch (IOException e) {
        // already closed
      }
      closeQuietly(channel);
    }
  }

  private static void closeQuietly(SocketChannel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      // the socket is closed even if close fails
    }
  }
}
