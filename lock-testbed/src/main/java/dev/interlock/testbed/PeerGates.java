package dev.interlock.testbed;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Stands in front of the ports at which the members of an etcd cluster hear from each other, and
 * can cut one of them off: what it sends to the others is swallowed, and what they send to it.
 * Clients still reach it.
 *
 * <p>Members send each other plain HTTP/1.1. Whoever sends says in every request that matters where
 * it is to be found itself, which is its own gate; so it is known whose a connection is.
 */
final class PeerGates {
  private static final int BACKLOG = 256;
  // setPeerURLsHeader in etcdserver/api/rafthttp/util.go, as Go writes names of headers.
  private static final Pattern SENDER =
      Pattern.compile("X-Peerurls: http://127\\.0\\.0\\.1:(\\d+)\r\n");
  private static final int LONGEST_HEADER = 64;

  // All touched with this object's monitor held. Members are named by the ports of their gates.
  private final Set<Integer> cutOff = new HashSet<>();
  private final Set<Link> links = new HashSet<>();

  /**
   * Opens the gate of one member.
   *
   * @param port where the others are told that it is
   * @param peer where it is
   * @throws BindConflictException if another program has taken the port
   */
  Closeable open(int port, int peer) {
    try {
      ServerSocket listener = new ServerSocket(port, BACKLOG, InetAddress.getLoopbackAddress());
      start("peer-gate-" + port, () -> accept(listener, port, peer));
      return () -> {
        listener.close();
        closeLinks(link -> link.target == port);
      };
    } catch (IOException e) {
      throw new BindConflictException("cannot listen on port " + port + ": " + e.getMessage());
    }
  }

  private void accept(ServerSocket listener, int port, int peer) {
    while (!listener.isClosed()) {
      try {
        Link link = new Link(listener.accept(), port);
        synchronized (this) {
          links.add(link);
        }
        start("peer-link-" + port, () -> link.carry(peer));
      } catch (IOException e) {
        // The gate is closed, or whoever came has gone.
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
   * nothing by which it takes part in what the members decide.
   *
   * <p>One thing still passes: a follower forwards requests to renew a lease to the leader, and
   * they do not say whose they are. It does so until it has noticed, after its election time-out,
   * that it has no leader any more.
   */
  void cutOff(int member) {
    synchronized (this) {
      cutOff.add(member);
    }
    // A sender that is not known yet may be the one.
    closeLinks(link -> link.target == member || link.sender == member || link.sender == 0);
  }

  void reconnect(int member) {
    synchronized (this) {
      cutOff.remove(member);
    }
    closeLinks(link -> link.target == member || link.sender == member);
  }

  private interface Choice {
    boolean matches(Link link);
  }

  private void closeLinks(Choice choice) {
    List<Link> chosen = new ArrayList<>();
    synchronized (this) {
      links.stream().filter(choice::matches).forEach(chosen::add);
      links.removeAll(chosen);
    }
    chosen.forEach(Link::close);
  }

  private synchronized boolean passes(Link link) {
    return !cutOff.contains(link.target) && !cutOff.contains(link.sender);
  }

  /** One connection from a member to another. */
  private final class Link {
    private final Socket from;
    private final int target;
    private volatile int sender;
    private volatile @Nullable Socket to;

    Link(Socket from, int target) {
      this.from = from;
      this.target = target;
    }

    void carry(int peer) {
      try (Socket server = new Socket(InetAddress.getLoopbackAddress(), peer)) {
        to = server;
        start("peer-link-back-" + target, () -> pump(server, from, false));
        pump(from, server, true);
      } catch (IOException e) {
        // It is down.
      } finally {
        close();
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
            Matcher named = SENDER.matcher(text);
            if (named.find()) {
              sender = Integer.parseInt(named.group(1));
            }
            end = text.substring(Math.max(0, text.length() - LONGEST_HEADER));
          }
          if (passes(this)) {
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
