package dev.interlock.simulation.model;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Share;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A model of a ZooKeeper ensemble: a store with sessions, sequential ephemeral nodes and watches.
 * It is one server, which has no leader at times.
 */
public class QueueServer extends Server {

  /**
   * A node, which is a place in the queue. It holds the name if its weight and the weights of all
   * nodes before it fit into the capacity together. So no claim overtakes a heavier one.
   */
  record Node(String name, String claim, String holder, Share share, long session, long number) {}

  private static final class Session {
    final long id;
    final long timeout;
    long lastHeardAt;
    boolean expired;
    @Nullable Connection connection;

    Session(long id, long timeout, long lastHeardAt) {
      this.id = id;
      this.timeout = timeout;
      this.lastHeardAt = lastHeardAt;
    }
  }

  private record Watch(Connection connection, Runnable signal) {}

  private final Map<Long, Session> sessions = new LinkedHashMap<>();
  private final TreeMap<Long, Node> nodes = new TreeMap<>();
  private final Map<Long, List<Watch>> watches = new LinkedHashMap<>();
  private long lastSession;
  private long lastNode;
  private boolean leaderless;

  public QueueServer(Scheduler scheduler, String name) {
    super(scheduler, name);
  }

  @Override
  void forgetEverything() {
    sessions.clear();
    nodes.clear();
    watches.clear();
  }

  /** Renews every session for its whole time-out, as a new leader does. */
  @Override
  void onStart() {
    watches.clear();
    touchSessions();
  }

  private void touchSessions() {
    for (Session session : sessions.values()) {
      session.lastHeardAt = scheduler.now();
      scheduleExpiry(session);
    }
  }

  /** Refuses all requests for some time, and then renews the sessions. */
  public void loseLeader(long nanos) {
    leaderless = true;
    scheduler.after(
        nanos,
        () -> {
          leaderless = false;
          touchSessions();
        });
  }

  private void requireLeader() {
    if (leaderless) {
      throw Connection.unavailable(this, "there is no leader");
    }
  }

  // --- sessions -------------------------------------------------------------------------------

  long newSession(long timeout) {
    requireLeader();
    Session session = new Session(++lastSession, timeout, scheduler.now());
    sessions.put(session.id, session);
    scheduleExpiry(session);
    return session.id;
  }

  private void scheduleExpiry(Session session) {
    scheduler.at(
        session.lastHeardAt + session.timeout,
        () -> {
          if (!leaderless
              && isUp()
              && !session.expired
              && scheduler.now() - session.lastHeardAt >= session.timeout) {
            endSession(session.id);
          }
        });
  }

  boolean endSession(long id) {
    Session session = sessions.remove(id);
    if (session == null) {
      return false;
    }
    session.expired = true;
    for (Node node : List.copyOf(nodes.values())) {
      if (node.session() == id) {
        remove(node);
      }
    }
    return true;
  }

  /** Renews the session for its whole time-out, and returns whether it exists. */
  boolean touch(long id) {
    requireLeader();
    Session session = sessions.get(id);
    if (session == null) {
      return false;
    }
    session.lastHeardAt = scheduler.now();
    scheduleExpiry(session);
    return true;
  }

  /** Refuses a request on an older connection than the session's current one. */
  void requireCurrent(long id, Connection from) {
    Session session = sessions.get(id);
    if (session == null) {
      return;
    }
    Connection current = session.connection;
    if (current != null && current.number() > from.number()) {
      throw Connection.unavailable(this, "the session has moved");
    }
    session.connection = from;
  }

  // --- nodes ----------------------------------------------------------------------------------

  private void requirePermission() {
    if (isRefusing()) {
      throw new LockConfigurationException("model: NoAuth");
    }
  }

  Node create(long session, Claim claim) {
    if (!touch(session)) {
      throw Connection.unavailable(this, "the session has ended");
    }
    requirePermission();
    requireAgreement(claim);
    Node node =
        new Node(claim.name(), claim.id(), claim.label(), claim.share(), session, ++lastNode);
    nodes.put(node.number(), node);
    return node;
  }

  private void requireAgreement(Claim claim) {
    for (Node other : queue(claim.name())) {
      if (!other.share().agreesWith(claim.share())) {
        throw claim.share().disagreement(claim.name(), other.share());
      }
    }
  }

  /** Creates the node of a claim if it holds at once; returns null if it would have to wait. */
  @Nullable Node createHolding(long session, Claim claim) {
    requireAgreement(claim);
    return fits(claim.share(), queue(claim.name())) ? create(session, claim) : null;
  }

  /** {@return whether a share fits into the capacity behind these nodes} */
  boolean fits(Share share, List<Node> before) {
    long ahead = before.stream().mapToLong(node -> node.share().weight()).sum();
    return ahead + share.weight() <= share.capacity();
  }

  private List<Node> nodesBefore(Node node) {
    return queue(node.name()).stream().takeWhile(other -> other.number() < node.number()).toList();
  }

  private boolean holds(Node node) {
    return fits(node.share(), nodesBefore(node));
  }

  /**
   * Returns whether the node holds the lock. If it does, watches the node; otherwise watches all
   * nodes before it. (A real client watches only one of these.)
   */
  boolean holdsOrWatches(long number, Connection connection, Runnable onGone, Runnable onChange) {
    Node node = nodes.get(number);
    if (node == null) {
      throw Connection.unavailable(this, "the place is gone");
    }
    if (holds(node)) {
      watch(number, connection, onGone);
      return true;
    }
    nodesBefore(node).forEach(other -> watch(other.number(), connection, onChange));
    return false;
  }

  List<Node> queue(String name) {
    return nodes.values().stream().filter(node -> node.name().equals(name)).toList();
  }

  /**
   * Removes the nodes of a claim, and returns whether it held the lock. A claim has several nodes
   * if its creation was repeated.
   */
  boolean release(String name, String claim) {
    requireLeader();
    requirePermission();
    List<Node> own = queue(name).stream().filter(node -> node.claim().equals(claim)).toList();
    boolean wasHeld = own.stream().anyMatch(this::holds);
    own.forEach(this::remove);
    return wasHeld;
  }

  boolean force(String name) {
    requireLeader();
    requirePermission();
    List<Node> holders = queue(name).stream().filter(this::holds).toList();
    holders.forEach(this::remove);
    return !holders.isEmpty();
  }

  LockState inspect(String name) {
    List<Node> queue = queue(name);
    List<Node> holders = queue.stream().filter(this::holds).toList();
    if (holders.isEmpty()) {
      return LockStates.free(name);
    }
    Share share = holders.get(0).share();
    return LockStates.held(
        name,
        share.kind(),
        share.capacity(),
        holders.stream()
            .map(
                node ->
                    LockStates.holder(
                        node.share().kind(),
                        node.share().weight(),
                        node.holder(),
                        node.number(),
                        null,
                        null))
            .toList(),
        queue.stream().skip(holders.size()).map(Node::holder).toList());
  }

  /** Watches a node, if it exists. */
  void watch(long number, Connection connection, Runnable signal) {
    if (nodes.containsKey(number)) {
      watches.computeIfAbsent(number, key -> new ArrayList<>()).add(new Watch(connection, signal));
    }
  }

  @Override
  public long keptUntil(String name, long number) {
    Node node = nodes.get(number);
    Session session = node == null ? null : sessions.get(node.session());
    return session == null ? 0 : session.lastHeardAt + session.timeout;
  }

  boolean has(long number) {
    return nodes.containsKey(number);
  }

  private void remove(Node node) {
    nodes.remove(node.number());
    List<Watch> nodeWatches = watches.remove(node.number());
    if (nodeWatches != null) {
      nodeWatches.forEach(watch -> watch.connection.push(watch.signal));
    }
  }

  @Override
  public List<String> locks() {
    return nodes.values().stream().map(node -> node.name() + " by " + node.claim()).toList();
  }
}
