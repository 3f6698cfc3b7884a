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
 * A store with sessions, ephemeral nodes in order, and watches: a model of a ZooKeeper ensemble,
 * seen as one server that loses its leader at times.
 */
public class QueueServer extends Server {

  /**
   * A node: a place in the queue. It holds the name if its weight and those of all before it fit
   * into the capacity. So nobody overtakes one who needs more.
   */
  record Node(String name, String claim, String holder, Share share, long session, long number) {}

  private static final class Session {
    final long id;
    final long timeout;
    long heardOf;
    boolean expired;
    @Nullable Connection connection;

    Session(long id, long timeout, long heardOf) {
      this.id = id;
      this.timeout = timeout;
      this.heardOf = heardOf;
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

  /** A new leader renews every session for its whole time-out. */
  @Override
  void started() {
    watches.clear();
    touchAll();
  }

  private void touchAll() {
    for (Session session : sessions.values()) {
      session.heardOf = scheduler.now();
      expireLater(session);
    }
  }

  /** Answers nothing for a while; then renews the sessions. */
  public void loseLeader(long nanos) {
    leaderless = true;
    scheduler.after(
        nanos,
        () -> {
          leaderless = false;
          touchAll();
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
    expireLater(session);
    return session.id;
  }

  private void expireLater(Session session) {
    scheduler.at(
        session.heardOf + session.timeout,
        () -> {
          if (!leaderless
              && isUp()
              && !session.expired
              && scheduler.now() - session.heardOf >= session.timeout) {
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

  /** Renews the session for its whole time-out; returns whether it lives. */
  boolean touch(long id) {
    requireLeader();
    Session session = sessions.get(id);
    if (session == null) {
      return false;
    }
    session.heardOf = scheduler.now();
    expireLater(session);
    return true;
  }

  /** Refuses a request on an earlier connection of the session than its current one. */
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

  private void requireWilling() {
    if (isRefusing()) {
      throw new LockConfigurationException("model: NoAuth");
    }
  }

  Node create(long session, Claim claim) {
    if (!touch(session)) {
      throw Connection.unavailable(this, "the session has ended");
    }
    requireWilling();
    ensureAgreement(claim);
    Node node =
        new Node(claim.name(), claim.id(), claim.label(), claim.share(), session, ++lastNode);
    nodes.put(node.number(), node);
    return node;
  }

  private void ensureAgreement(Claim claim) {
    for (Node present : line(claim.name())) {
      if (!present.share().agreesWith(claim.share())) {
        throw claim.share().disagreement(claim.name(), present.share());
      }
    }
  }

  /** Creates the node of a claim that holds at once; null if it would have to wait. */
  @Nullable Node createHolding(long session, Claim claim) {
    ensureAgreement(claim);
    return fits(claim.share(), line(claim.name())) ? create(session, claim) : null;
  }

  /** Whether a share fits in behind those that are before it. */
  boolean fits(Share share, List<Node> before) {
    long ahead = before.stream().mapToLong(node -> node.share().weight()).sum();
    return ahead + share.weight() <= share.capacity();
  }

  /** Those before a node in its queue. */
  private List<Node> before(Node node) {
    return line(node.name()).stream().takeWhile(other -> other.number() < node.number()).toList();
  }

  private boolean holds(Node node) {
    return fits(node.share(), before(node));
  }

  /**
   * Whether the node holds; watches it if so, and otherwise all before it. (A real client watches
   * one of these; which one is the backend's matter.)
   */
  boolean holdsOrWatches(long number, Connection connection, Runnable gone, Runnable news) {
    Node node = nodes.get(number);
    if (node == null) {
      throw Connection.unavailable(this, "the place is gone");
    }
    if (holds(node)) {
      watch(number, connection, gone);
      return true;
    }
    before(node).forEach(other -> watch(other.number(), connection, news));
    return false;
  }

  List<Node> line(String name) {
    return nodes.values().stream().filter(node -> node.name().equals(name)).toList();
  }

  /**
   * Removes the nodes of a claim, more than one if it was repeated; returns whether it held the
   * lock.
   */
  boolean release(String name, String claim) {
    requireLeader();
    requireWilling();
    List<Node> own = line(name).stream().filter(node -> node.claim().equals(claim)).toList();
    boolean held = own.stream().anyMatch(this::holds);
    own.forEach(this::remove);
    return held;
  }

  boolean force(String name) {
    requireLeader();
    requireWilling();
    List<Node> holders = line(name).stream().filter(this::holds).toList();
    holders.forEach(this::remove);
    return !holders.isEmpty();
  }

  LockState inspect(String name) {
    List<Node> line = line(name);
    List<Node> holders = line.stream().filter(this::holds).toList();
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
        line.stream().skip(holders.size()).map(Node::holder).toList());
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
    return session == null ? 0 : session.heardOf + session.timeout;
  }

  boolean has(long number) {
    return nodes.containsKey(number);
  }

  private void remove(Node node) {
    nodes.remove(node.number());
    List<Watch> watching = watches.remove(node.number());
    if (watching != null) {
      watching.forEach(watch -> watch.connection.push(watch.signal));
    }
  }

  @Override
  public List<String> held() {
    return nodes.values().stream().map(node -> node.name() + " by " + node.claim()).toList();
  }
}
