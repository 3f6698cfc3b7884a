package dev.interlock.tck.fault;

import java.io.IOException;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/**
 * One connection of a client and the one to the server that stands behind it. Used on the proxy's
 * thread only.
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
  private boolean misled;
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

  /** Whether the link must not go on when its faults have ended. */
  boolean lossy() {
    return up.lossy() || down.lossy();
  }

  /** Whether it leads to another server than it should. */
  boolean misled() {
    return misled;
  }

  /** Begins to connect to the server; a server that refuses resets the client. */
  void connect(SocketAddress address, boolean elsewhere) {
    misled = elsewhere;
    try {
      if (server.connect(address)) {
        connected = true;
      }
    } catch (IOException e) {
      reset();
    }
  }

  /** Does what the selector says can be done. */
  void ready(SelectionKey key, ByteBuffer scratch, long now) {
    if (closed || !key.isValid()) {
      return;
    }
    if (key.isConnectable()) {
      try {
        connected = server.finishConnect();
      } catch (IOException e) {
        reset(); // the server refuses: the client, whose connection stands, learns it by a reset
        return;
      }
    }
    if (key.isReadable()) {
      Pipe pipe = key == clientKey ? up : down;
      try {
        pipe.fill(scratch, now);
      } catch (IOException e) {
        broken(pipe);
      }
    }
  }

  /** Writes what is due and tells the selector what to wait for. */
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
      want(clientKey, up, down);
      want(serverKey, down, up);
    }
  }

  private void flush(Pipe pipe, Pipe opposite, long now) {
    if (closed) {
      return;
    }
    try {
      pipe.flush(now);
    } catch (IOException e) {
      broken(opposite);
    }
  }

  private static void want(SelectionKey key, Pipe from, Pipe to) {
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

  void hurry(long now) {
    up.hurry(now);
    down.hurry(now);
  }

  /** The socket that {@code pipe} reads from was reset by its peer. */
  private void broken(Pipe pipe) {
    Direction direction = pipe == up ? Direction.CLIENT_TO_SERVER : Direction.SERVER_TO_CLIENT;
    Pipe opposite = pipe == up ? down : up;
    if (faults.hideEnd(this, direction)) {
      pipe.sourceLostUnseen();
      opposite.sinkLostUnseen();
    } else if (pipe.holdsBytes()) {
      // What was on its way before the reset still arrives, however late.
      pipe.cutAfterTheRest();
      opposite.sinkGone();
    } else {
      reset();
      return;
    }
    closeQuietly(pipe == up ? client : server);
  }

  /** Closes both connections as a program does that has nothing more to say. */
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
        // Gone already: nothing is left to be reset.
      }
      closeQuietly(channel);
    }
  }

  private static void closeQuietly(SocketChannel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      // A socket whose close fails is closed none the less.
    }
  }
}
