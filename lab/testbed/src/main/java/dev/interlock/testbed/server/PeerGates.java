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
 * Stands in front of the ports at which the members of an ensemble hear from each other, and can
 * cut one of them off: what it sends to the others is swallowed, and what they send to it. Clients
 * still reach it.
 *
 * <p>Members are named by the ports at which clients reach them.
 */
public final class PeerGates {
  private static final int BACKLOG = 256;
  private static final int LONGEST_NAME = 64;
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  /** Tells whose a connection is. */
  public interface Sender {
    /**
     * Looks for the sender's name.
     *
     * @param text what the connection has begun with, or the end of what it has carried; one
     *     character for each byte
     * @return the sender, or 0 if the text does not tell
     */
    int in(String text);
  }

  // All touched with this object's monitor held.
  private final Set<Integer> cutOff = new HashSet<>();
  private final Set<Link> links = new HashSet<>();

  /**
   * Opens a gate.
   *
   * @param port where the others are configured to find the member
   * @param peer where it is
   * @param target the member
   * @param sender tells which of the others a connection comes from
   * @return closes the gate
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
        start("peer-link-" + target, () -> link.carry(peer));
      } catch (IOException e) {
        // The gate is closed, or the peer has disconnected already.
      }
    }
  }

  private static void start(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * Cuts a member off. When it returns, nothing arrives that is sent to the member from now on, and
   * nothing by which it takes part in what the members decide. Connections stay, and are silent.
   *
   * <p>With etcd one thing still passes: a follower forwards requests to renew a lease to the
   * leader, and they do not say whose they are. It does so until it has noticed, after its election
   * time-out, that it has no leader any more.
   */
  public void cutOff(int member) {
    synchronized (this) {
      cutOff.add(member);
    }
    // A sender that is not known yet may be the one.
    closeLinks(link -> link.sender == 0);
  }

  /** Lets a member hear from the others again, and they from it, over new connections. */
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
    private final Sender recognition;
    private volatile int sender;
    private volatile boolean lossy;
    private volatile @Nullable Socket to;

    Link(ServerSocket gate, Socket from, int target, Sender recognition) {
      this.gate = gate;
      this.from = from;
      this.target = target;
      this.recognition = recognition;
      this.sender = recognition.in("");
    }

    void carry(int peer) {
      try (Socket server = connect(peer)) {
        to = server;
        start("peer-link-back-" + target, () -> pump(server, from, false));
        pump(from, server, true);
      } catch (IOException e) {
        // It is down.
      } finally {
        close();
      }
    }

    /**
     * Waits as a member would that is refused and tries again: a ZooKeeper leader that has just
     * been elected does not listen yet, and one that has heard it hang up is waited for in vain.
     */
    private Socket connect(int peer) throws IOException {
      long start = System.nanoTime();
      while (true) {
        try {
          return new Socket(InetAddress.getLoopbackAddress(), peer);
        } catch (ConnectException e) {
          if (from.isClosed() || System.nanoTime() - start > PATIENCE.toNanos()) {
            throw e;
          }
          LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
        }
      }
    }

    private void pump(Socket in, Socket out, boolean forth) {
      byte[] buffer = new byte[1 << 14];
      String end = "";
      try {
        InputStream source = in.getInputStream();
        OutputStream sink = out.getOutputStream();
        for (int read = source.read(buffer); read >= 0; read = source.read(buffer)) {
          if (forth && sender == 0) {
            String text = end + new String(buffer, 0, read, ISO_8859_1);
            sender = recognition.in(text);
            end = text.substring(Math.max(0, text.length() - LONGEST_NAME));
          }
          // Whatever came behind a hole would be what no network can produce.
          if (!passes(this)) {
            lossy = true;
          }
          if (!lossy) {
            sink.write(buffer, 0, read);
          }
        }
      } catch (IOException e) {
        // It broke, or was closed.
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
          // It is closed.
        }
      }
    }
  }
}
