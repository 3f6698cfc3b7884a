package dev.interlock.testbed.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Proxies in front of the ports at which the members of an ensemble reach each other. They can cut
 * one member off: they then drop the messages between it and the others, while clients still reach
 * it.
 *
 * <p>A member is identified by its port for clients.
 */
public final class PeerGates {
  private static final int BACKLOG = 256;
  private static final int MAX_NAME_LENGTH = 64;
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(1);

  /** Recognizes the sender of a connection. */
  public interface Sender {
    /**
     * Looks for the sender in a part of the connection's data.
     *
     * @param text the first bytes, or the last ones so far; one character per byte
     * @return the sender, or 0 if the text does not show it
     */
    int in(String text);
  }

  // This object's monitor guards both collections.
  private final Set<Integer> cutOff = new HashSet<>();
  private final Set<Link> links = new HashSet<>();

  /**
   * Opens a gate.
   *
   * @param port the port at which the others are configured to find the member
   * @param peer the port at which the member listens to them
   * @param target the member
   * @param sender recognizes the member that a connection comes from
   * @return closes the gate when it is closed
   * @throws BindConflictException if another program has taken the port
   */
  public Closeable open(int port, int peer, int target, Sender sender) {
    try {
      ServerSocket listener = new ServerSocket(port, BACKLOG, InetAddress.getLoopbackAddress());
      start("peer-gate-" + port, () -> accept(listener, peer, target, sender));
      return () -> {
        listener.close();
        closeLinks(link -> link.gate == listener);
      };
    } catch (IOException e) {
      throw new BindConflictException("cannot listen on port " + port + ": " + e.getMessage());
    }
  }

  private void accept(ServerSocket listener, int peer, int target, Sender sender) {
    while (!listener.isClosed()) {
      try {
        Link link = new Link(listener, listener.accept(), target, sender);
        synchronized (this) {
          links.add(link);
        }
        start("peer-link-" + target, () -> link.forward(peer));
      } catch (IOException e) {
        // The gate is closed, or the peer has already disconnected.
      }
    }
  }

  private static void start(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * Cuts a member off. When this returns, no further messages reach the member, or reach the others
   * from it. Connections stay open, and are silent.
   *
   * <p>There is one exception: an etcd follower forwards renewals of leases to the leader, in
   * requests that do not show their sender. It does so until it notices, after its election
   * time-out, that it has no leader.
   */
  public void cutOff(int member) {
    synchronized (this) {
      cutOff.add(member);
    }
    // A sender that is not recognized yet may be this member.
    closeLinks(link -> link.sender == 0);
  }

  /** Reconnects a member with the others, over new connections. */
  public void reconnect(int member) {
    synchronized (this) {
      cutOff.remove(member);
    }
    closeLinks(link -> link.target == member || link.sender == member);
  }

  private void closeLinks(Predicate<Link> choice) {
    List<Link> chosen = new ArrayList<>();
    synchronized (this) {
      links.stream().filter(choice).forEach(chosen::add);
      links.removeAll(chosen);
    }
    chosen.forEach(Link::close);
  }

  private synchronized boolean passes(Link link) {
    return !cutOff.contains(link.target) && !cutOff.contains(link.sender);
  }

  /** One connection from a member to another. */
  private final class Link {
    private final ServerSocket gate;
    private final Socket from;
    private final int target;
    private final Sender recognizer;
    private volatile int sender;
    private volatile boolean lossy;
    private volatile @Nullable Socket to;

    Link(ServerSocket gate, Socket from, int target, Sender recognizer) {
      this.gate = gate;
      this.from = from;
      this.target = target;
      this.recognizer = recognizer;
      this.sender = recognizer.in("");
    }

    void forward(int peer) {
      try (Socket server = connect(peer)) {
        to = server;
        start("peer-link-back-" + target, () -> pump(server, from, false));
        pump(from, server, true);
      } catch (IOException e) {
        // the member is down
      } finally {
        close();
      }
    }

    /**
     * Connects, and retries as a member would that is refused: a ZooKeeper leader that has just
     * been elected does not listen yet, and a peer whose connection is closed does not try again.
     */
    private Socket connect(int peer) throws IOException {
      long start = System.nanoTime();
      while (true) {
        try {
          return new Socket(InetAddress.getLoopbackAddress(), peer);
        } catch (ConnectException e) {
          if (from.isClosed() || System.nanoTime() - start > CONNECT_TIMEOUT.toNanos()) {
            throw e;
          }
          LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
        }
      }
    }

    private void pump(Socket in, Socket out, boolean toTarget) {
      byte[] buffer = new byte[1 << 14];
      String end = "";
      try {
        InputStream source = in.getInputStream();
        OutputStream sink = out.getOutputStream();
        for (int read = source.read(buffer); read >= 0; read = source.read(buffer)) {
          if (toTarget && sender == 0) {
            String text = end + new String(buffer, 0, read, ISO_8859_1);
            sender = recognizer.in(text);
            end = text.substring(Math.max(0, text.length() - MAX_NAME_LENGTH));
          }
          // After a gap nothing may follow, since TCP never produces a stream with a gap.
          if (!passes(this)) {
            lossy = true;
          }
          if (!lossy) {
            sink.write(buffer, 0, read);
          }
        }
      } catch (IOException e) {
        // the connection was reset or closed
      } finally {
        close();
      }
    }

    void close() {
      synchronized (PeerGates.this) {
        links.remove(this);
      }
      for (Socket socket : new @Nullable Socket[] {from, to}) {
        try {
          if (socket != null) {
            socket.close();
          }
        } catch (IOException e) {
          // already closed
        }
      }
    }
  }
}
