package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.collect.ImmutableList;
import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * Locks as lines of ephemeral sequential nodes below a container node: the recipe of ZooKeeper's
 * own documentation, with these differences.
 *
 * <ul>
 *   <li>Making one's node and listing the line are sent back to back. A session keeps their order,
 *       so the listing knows everybody who came before, and an uncontended lock costs one round
 *       trip.
 *   <li>A node's name begins with the identity of its attempt. Whatever became of a request, the
 *       attempt's node can be found and removed, and nobody else's is ever touched.
 *   <li>A write is never repeated by itself. A node that is found after a lost connection could be
 *       a former session's (CURATOR-604), so no grant is made without having seen the node's owner.
 *   <li>A grant is certain only for as long as the session is, see {@link Session}.
 * </ul>
 */
final class ZooKeeperBackend implements QueueingBackend {

  private static final byte[] NOTHING = new byte[0];

  private final BackendInfo info;
  private final Sessions sessions;
  private final String namespacePath;
  private final AccessLists accessLists;
  private final BackendContext context;
  private final TimeSource time;
  private final Failures failures;
  private final Runnable disconnect;

  ZooKeeperBackend(
      BackendInfo info,
      Sessions sessions,
      String namespacePath,
      AccessLists accessLists,
      BackendContext context,
      Failures failures,
      Runnable disconnect) {
    this.info = info;
    this.sessions = sessions;
    this.namespacePath = namespacePath;
    this.accessLists = accessLists;
    this.context = context;
    this.time = context.time();
    this.failures = failures;
    this.disconnect = disconnect;
  }

  @Override
  public BackendInfo info() {
    return info;
  }

  @Override
  public String endpoint() {
    return failures.endpoint();
  }

  TimeSource time() {
    return time;
  }

  Failures failures() {
    return failures;
  }

  Duration pollInterval() {
    return context.options().pollInterval();
  }

  Duration requestTimeout() {
    return context.options().requestTimeout();
  }

  // --- acquiring ------------------------------------------------------------------------------

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    if (isBusy(lockPath(claim), deadline)) {
      return new Attempt.Busy(pollInterval());
    }
    Arrival arrival = enter(claim, deadline);
    if (arrival.place() == 0) {
      try (Place place = new WaitingPlace(this, claim, arrival.standing(), arrival.line(), 0)) {
        return place.await(deadline);
      }
    }
    release(claim, deadline);
    return new Attempt.Busy(pollInterval());
  }

  /**
   * Whether somebody is in line. A first glance makes no write, and is enough for a free lock: who
   * is first in it is only said by our own node. To turn somebody away takes a look that is
   * certain.
   */
  private boolean isBusy(String lock, Deadline deadline) throws InterruptedException {
    return !glance(lock, deadline).isEmpty() && !lineOf(lock, deadline).isEmpty();
  }

  @Override
  public Place join(Claim claim, Deadline deadline) throws InterruptedException {
    Arrival arrival = enter(claim, deadline);
    return new WaitingPlace(this, claim, arrival.standing(), arrival.line(), arrival.place());
  }

  /** Our node, and the line in which it is. */
  private record Arrival(QueueNode standing, Line line, int place) {}

  private Arrival enter(Claim claim, Deadline deadline) throws InterruptedException {
    String lock = lockPath(claim);
    String asked = lock + "/" + LineNode.prefix(claim.id());
    byte[] label = claim.holder().getBytes(UTF_8);
    Session session = sessions.current();
    for (boolean first = true; ; first = false) {
      Reply<Session.Made> parent =
          first ? null : session.create(lock, NOTHING, accessLists.of(lock), CreateMode.CONTAINER);
      claim.attach(session);
      long sentAt = time.nanoTime();
      Reply<Session.Made> node = session.createOwn(asked, label, accessLists.of(asked));
      Reply<List<String>> listing = session.children(lock);
      try {
        // Answers come in order. When the last is here so are the others, for one wake-up.
        listing.awaitEnd(deadline);
        if (parent != null) {
          requireMade(session, parent, deadline);
        }
        QueueNode standing = confirmed(session, claim, sentAt, node.await(deadline));
        Line line = checked(lock, Line.of(listing.await(deadline)));
        int place = line.placeOf(standing.node().name());
        if (place < 0) {
          throw placeLost();
        }
        return new Arrival(standing, line, place);
      } catch (KeeperException e) {
        if (node.isRefused()) {
          claim.attach(null);
          session.keepsNoMore(asked);
        }
        if (!Failures.isNoNode(e)) {
          throw failures.explain(e);
        }
        // The lock is used for the first time, or its node was cleaned up this moment.
        if (deadline.hasPassed()) {
          throw failures.passing("the lock's node could not be made in time", e);
        }
      }
    }
  }

  private QueueNode confirmed(Session session, Claim claim, long sentAt, Session.Made made) {
    session.confirm(sentAt);
    String name = made.path().substring(made.path().lastIndexOf('/') + 1);
    LineNode node = LineNode.parse(name).orElseThrow();
    QueueNode standing = new QueueNode(session, made.path(), node, made.stat().getCzxid());
    claim.attach(standing);
    if (made.stat().getEphemeralOwner() != session.id()) {
      throw failures.passing("the node that was made is not this session's", null);
    }
    session.requireLong(failures);
    if (node.isBeyondLast()) {
      throw failures.passing(
          "the lock's node has numbered all the children that it can; it starts anew when nobody"
              + " holds or waits for the lock",
          null);
    }
    return standing;
  }

  /** A lock's node, and those above it if they are missing too. */
  private void requireMade(Session session, Reply<Session.Made> parent, Deadline deadline)
      throws KeeperException, InterruptedException {
    try {
      parent.await(deadline);
    } catch (KeeperException e) {
      if (Failures.isNoNode(e)) {
        makeNamespace(session, deadline);
      } else if (e.code() != Code.NODEEXISTS) {
        throw e;
      }
    }
  }

  private void makeNamespace(Session session, Deadline deadline) throws InterruptedException {
    for (int end = 0; end < namespacePath.length(); ) {
      int slash = namespacePath.indexOf('/', end + 1);
      end = slash < 0 ? namespacePath.length() : slash;
      String path = namespacePath.substring(0, end);
      try {
        session.create(path, NOTHING, accessLists.of(path), CreateMode.CONTAINER).await(deadline);
      } catch (KeeperException e) {
        if (Failures.isNoNode(e)) {
          throw failures.wrong("the node of the chroot does not exist; make it first", e);
        }
        if (e.code() != Code.NODEEXISTS) {
          throw failures.explain(e);
        }
      }
    }
  }

  Attempt grant(Claim claim, QueueNode standing) {
    Session session = standing.session();
    if (!session.hold(claim)) {
      session.drop(claim);
      throw failures.sessionEnded();
    }
    return new Attempt.Granted(
        Grant.onSession(
            claim,
            standing.token(),
            session.confirmedAt(),
            session.validityPerConfirmation(),
            session.timeout()));
  }

  LockException placeLost() {
    return failures.passing("our place in line was deleted by somebody else", null);
  }

  // --- renewing -------------------------------------------------------------------------------

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    return renewAll(List.of(grant), deadline).get(0);
  }

  /** One write for all: committed, it makes the session certain, and finds the nodes that went. */
  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    Session session = sessions.current();
    @Nullable Renewal[] outcomes = new Renewal[grants.size()];
    List<Integer> open = new ArrayList<>();
    for (int i = 0; i < outcomes.length; i++) {
      if (standing(grants.get(i)).session() == session) {
        open.add(i);
      } else {
        outcomes[i] = gone(grants.get(i), LossReason.SESSION_ENDED, "the session has ended");
      }
    }
    while (!open.isEmpty()) {
      long sentAt = time.nanoTime();
      List<Integer> found = check(session, grants, open, deadline);
      List<Integer> left = new ArrayList<>();
      for (int i = 0; i < found.size(); i++) {
        if (found.get(i) == Code.NONODE.intValue()) {
          outcomes[open.get(i)] =
              gone(grants.get(open.get(i)), LossReason.TAKEN, "its node was deleted");
        } else {
          left.add(open.get(i));
        }
      }
      if (left.size() == open.size()) {
        if (!session.confirm(sentAt)) {
          // It is known for less long than usual: after a fault it takes some beats.
          if (!session.awaitPulse(new WakeUp(time), deadline)) {
            throw failures.unheard(null);
          }
          continue;
        }
        if (session.hasEnded()) {
          throw failures.sessionEnded();
        }
        long until = session.confirmedAt() + session.validityPerConfirmation().toNanos();
        left.forEach(i -> outcomes[i] = new Renewal.Renewed(until));
        left.clear();
      }
      open = left;
    }
    return Arrays.asList(outcomes);
  }

  private List<Integer> check(
      Session session, List<Grant> grants, List<Integer> which, Deadline deadline)
      throws InterruptedException {
    try {
      return check(
          session, which.stream().map(i -> standing(grants.get(i)).path()).toList(), deadline);
    } catch (KeeperException e) {
      throw failures.explain(e);
    }
  }

  /**
   * Has it committed that nodes of ours are there.
   *
   * @return for each, 0 if all are there; else the error of the first that is not, and others
   */
  List<Integer> check(Session session, List<String> paths, Deadline deadline)
      throws KeeperException, InterruptedException {
    List<Integer> found = session.check(paths).await(deadline);
    for (int code : found) {
      if (code != 0
          && code != Code.NONODE.intValue()
          && code != Code.RUNTIMEINCONSISTENCY.intValue()) {
        Code known = Code.get(code);
        throw KeeperException.create(known == null ? Code.SYSTEMERROR : known, paths.get(0));
      }
    }
    return found;
  }

  private Renewal gone(Grant grant, LossReason reason, String detail) {
    QueueNode standing = standing(grant);
    standing.session().drop(grant.claim());
    standing.session().keepsNoMore(standing.prefix());
    return new Renewal.Gone(reason, detail);
  }

  private static QueueNode standing(Grant grant) {
    if (grant.claim().attachment() instanceof QueueNode standing) {
      return standing;
    }
    throw new IllegalStateException("not granted here: " + grant.claim());
  }

  // --- leaving --------------------------------------------------------------------------------

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    if (claim.attachment() instanceof QueueNode standing) {
      standing.session().drop(claim);
      boolean wasThere = deleteOwn(standing.session(), standing.path(), standing.node(), deadline);
      standing.session().keepsNoMore(standing.prefix());
      return wasThere;
    }
    if (claim.attachment() == null) {
      return false;
    }
    // Whether there is a node is not known. The look is behind the request that would have made it.
    boolean any = false;
    String lock = lockPath(claim);
    Session session = sessions.current();
    for (LineNode node : listing(lock, deadline).of(claim.id())) {
      any |= deleteOwn(session, lock + "/" + node.name(), node, deadline);
    }
    session.keepsNoMore(lock + "/" + LineNode.prefix(claim.id()));
    return any;
  }

  private boolean deleteOwn(Session session, String path, LineNode node, Deadline deadline)
      throws InterruptedException {
    try {
      return delete(path, node, deadline);
    } catch (LockConfigurationException e) {
      // Permission is asked for before it is looked whether there is a node.
      if (session.hasEnded() || !isShown(path, node, deadline)) {
        return false;
      }
      throw e;
    }
  }

  /** The servers do not ask for permission when they end a session. */
  @Override
  public boolean endSession(Claim claim, Duration refusedFor, LockConfigurationException refusal) {
    Session session = sessionOf(claim);
    if (session == null) {
      return false;
    }
    if (refusedFor.compareTo(session.timeout()) >= 0) {
      sessions.giveUp(
          session,
          "the servers refuse to delete our node at "
              + lockPath(claim)
              + ": "
              + refusal.getMessage());
    }
    return true;
  }

  /** On which session the claim may have a node; null if it has none for certain. */
  private static @Nullable Session sessionOf(Claim claim) {
    return claim.attachment() instanceof QueueNode standing
        ? standing.session()
        : (Session) claim.attachment();
  }

  /** Whether a node is in line; if the servers do not say, it is. */
  private boolean isShown(String path, LineNode node, Deadline deadline)
      throws InterruptedException {
    try {
      return listing(path.substring(0, path.lastIndexOf('/')), deadline).placeOf(node.name()) >= 0;
    } catch (LockException e) {
      return true;
    }
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    String lock = LockPaths.of(namespacePath, name);
    Line line = lineOf(lock, deadline);
    if (line.isEmpty()) {
      return false;
    }
    LineNode holder = line.nodes().get(0);
    return delete(lock + "/" + holder.name(), holder, deadline);
  }

  /** Deletes a node. No other will ever have its name, so this may be repeated. */
  private boolean delete(String path, LineNode node, Deadline deadline)
      throws InterruptedException {
    boolean inDoubt = false;
    while (true) {
      Session session = sessions.current();
      try {
        session.delete(path).await(deadline);
        if (node.isWorn()) {
          // Refused as long as there is anybody in line.
          session.delete(path.substring(0, path.lastIndexOf('/')));
        }
        return true;
      } catch (KeeperException e) {
        if (Failures.isNoNode(e)) {
          return inDoubt;
        }
        if (inDoubt && e.code() == Code.NOAUTH) {
          // That is no answer for the first request, which may have been in time.
          throw failures.passing("the connection broke, and to ask again is not permitted", e);
        }
        if (!Failures.isConnectionLoss(e) || deadline.hasPassed()) {
          throw failures.explain(e);
        }
        inDoubt = true;
      }
    }
  }

  // --- looking --------------------------------------------------------------------------------

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    String lock = LockPaths.of(namespacePath, name);
    List<Session.Content> present = contents(lock, lineOf(lock, deadline), deadline);
    if (present.isEmpty()) {
      return LockState.free(name);
    }
    List<String> labels = present.stream().map(Session.Content::label).toList();
    return LockState.held(
        name, labels.get(0), present.get(0).czxid(), null, labels.subList(1, labels.size()));
  }

  /** What the nodes of a line hold; those that have left it meanwhile are left out. */
  private List<Session.Content> contents(String lock, Line line, Deadline deadline)
      throws InterruptedException {
    Session session = sessions.current();
    List<Reply<Session.Content>> replies =
        line.nodes().stream().map(node -> session.data(lock + "/" + node.name())).toList();
    List<Session.Content> contents = new ArrayList<>();
    for (Reply<Session.Content> reply : replies) {
      try {
        contents.add(reply.await(deadline));
      } catch (KeeperException e) {
        if (!Failures.isNoNode(e)) {
          throw failures.explain(e);
        }
      }
    }
    return contents;
  }

  /** The line at a moment within this call; refused if a stranger stands in it. */
  private Line lineOf(String lock, Deadline deadline) throws InterruptedException {
    return checked(lock, listing(lock, deadline));
  }

  /**
   * The line at a moment within this call. What is listed right behind a committed transaction is
   * no older than that. A sync is not enough: a leader answers its own clients' without waiting for
   * what it has let the others commit (<a
   * href="https://issues.apache.org/jira/browse/ZOOKEEPER-1675">ZOOKEEPER-1675</a>).
   */
  private Line listing(String lock, Deadline deadline) throws InterruptedException {
    return list(lock, session -> session.check(List.of(namespacePath)), deadline);
  }

  /** The line as our server has it once it has caught up with what its leader tells it. */
  private Line glance(String lock, Deadline deadline) throws InterruptedException {
    return list(lock, session -> session.sync(lock), deadline);
  }

  private Line list(String lock, Function<Session, Reply<?>> catchUp, Deadline deadline)
      throws InterruptedException {
    while (true) {
      Session session = sessions.current();
      Reply<?> caughtUp = catchUp.apply(session);
      Reply<List<String>> listing = session.children(lock);
      try {
        caughtUp.await(deadline);
        return Line.of(listing.await(deadline));
      } catch (KeeperException e) {
        if (Failures.isNoNode(e)) {
          return Line.EMPTY;
        }
        if (!Failures.isConnectionLoss(e) || deadline.hasPassed()) {
          throw failures.explain(e);
        }
      }
    }
  }

  /** Refuses a line in which a stranger stands. */
  Line checked(String lock, Line line) {
    ImmutableList<String> foreign = line.foreign();
    if (!foreign.isEmpty()) {
      throw failures.foreignNode(lock + "/" + foreign.get(0));
    }
    return line;
  }

  private String lockPath(Claim claim) {
    return LockPaths.of(namespacePath, claim.name());
  }

  @Override
  public void close() {
    sessions.close();
    disconnect.run();
  }
}
