package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.zookeeper.SoleUses.SoleUse;
import java.lang.ref.SoftReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * Locks as queues of ephemeral sequential nodes below a container node: the recipe of ZooKeeper's
 * own documentation, with these differences.
 *
 * <ul>
 *   <li>The requests that create a node and list the queue are sent back to back. A session keeps
 *       their order, so the listing shows every earlier node, and an uncontended lock costs one
 *       round trip.
 *   <li>A node's name begins with the claim's id. Whatever became of a request, the claim's node
 *       can be found and deleted, and no other is ever touched.
 *   <li>No write is repeated automatically. A node that is found after a lost connection could
 *       belong to a former session (CURATOR-604), so a grant requires that the node's owner was
 *       seen.
 *   <li>A grant is valid only for as long as the session certainly lasts, see {@link Session}.
 *   <li>Readers and permits wait in the same queue as everybody, see {@link LockQueue}. So the
 *       creation of a node gives tokens that rise with the grants: whoever is granted, everybody
 *       ahead in the queue was granted before.
 * </ul>
 */
final class ZooKeeperBackend implements QueueingBackend {

  private static final byte[] NO_DATA = new byte[0];

  private final BackendInfo info;
  private final SessionPool sessions;
  private final String namespacePath;
  private final AccessLists accessLists;
  private final BackendContext context;
  private final TimeSource time;
  private final Failures failures;

  /** Of several listings at the same time all but one ask for the names again. */
  private volatile @Nullable SoftReference<Listing> lastListing;

  ZooKeeperBackend(
      BackendInfo info,
      SessionPool sessions,
      AccessLists accessLists,
      BackendContext context,
      Failures failures) {
    this.info = info;
    this.sessions = sessions;
    this.namespacePath = sessions.first().namespacePath();
    this.accessLists = accessLists;
    this.context = context;
    this.time = context.time();
    this.failures = failures;
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
    String lock = lockPath(claim);
    // The first look costs no write, and is enough if there is room: our own node then shows who
    // came first. Turning a client away takes a committed look.
    if (!listAfterSync(lock, deadline).admits(claim.share())) {
      LockQueue queue = committedQueue(lock, deadline);
      requireAgreement(claim, queue);
      if (!queue.admits(claim.share())) {
        return new Attempt.Busy(pollInterval());
      }
    }
    Entered entered = enter(claim, deadline);
    if (entered.position() < entered.queue().holders()) {
      try (Place holder = waiter(claim, entered)) {
        return holder.await(deadline);
      }
    }
    release(claim, deadline);
    return new Attempt.Busy(pollInterval());
  }

  @Override
  public Place join(Claim claim, Deadline deadline) throws InterruptedException {
    return waiter(claim, enter(claim, deadline));
  }

  private Place waiter(Claim claim, Entered entered) {
    return new ZooKeeperWaiter(this, claim, entered.node(), entered.queue(), entered.position());
  }

  /** A node of this client, and its queue as it was when the node had been created. */
  private record Entered(QueueNode node, LockQueue queue, int position) {}

  private Entered enter(Claim claim, Deadline deadline) throws InterruptedException {
    Session session = sessions.reserve(claim, deadline);
    try {
      return enter(session, claim, deadline);
    } finally {
      if (claim.attachment() == null) {
        session.nodeGone(claim);
      }
    }
  }

  private Entered enter(Session session, Claim claim, Deadline deadline)
      throws InterruptedException {
    String lock = lockPath(claim);
    String prefix = LockPaths.nodePrefix(namespacePath, claim);
    byte[] label = label(claim);
    SoleUse before = session.soleUses().take(lock);
    boolean skipsLook = before != null && before.isLikelyToProve();
    for (boolean first = true; ; first = false) {
      requireKnownFormat(session, deadline);
      ReplyFuture<Session.Created> parent =
          first ? null : session.create(lock, NO_DATA, accessLists.of(lock), CreateMode.CONTAINER);
      claim.attach(session);
      long sentAt = time.nanoTime();
      ReplyFuture<Session.Created> created =
          session.createOwn(prefix, label, accessLists.of(prefix));
      ReplyFuture<Session.Children> listing = skipsLook ? null : session.children(lock);
      try {
        // Replies come in order: with the last one all have arrived, for one wake-up.
        (listing == null ? created : listing).awaitEnd(deadline);
        if (parent != null) {
          requireCreated(session, parent, deadline);
        }
        QueueNode node = confirmed(session, claim, sentAt, prefix, created.await(deadline));
        LockQueue queue;
        if (listing == null && before != null && before.proves(node)) {
          queue = LockQueue.ofOne(node);
        } else {
          ReplyFuture<Session.Children> look = listing == null ? session.children(lock) : listing;
          queue = checked(lock, LockQueue.of(look.await(deadline)));
        }
        int position = queue.positionOf(node.name());
        if (position < 0) {
          throw failures.nodeDeleted();
        }
        requireAgreementOrLeave(claim, queue, deadline);
        // A name that is used once, as most are, leaves nothing behind.
        if (queue.nodes().size() == 1 && node.number() > 0) {
          node = node.withSoleUse(SoleUses.following(before, node));
          claim.attach(node);
        }
        return new Entered(node, queue, position);
      } catch (KeeperException e) {
        if (created.isRefused()) {
          claim.attach(null);
        }
        skipsLook = false;
        if (!Failures.isNoNode(e)) {
          throw failures.explain(e);
        }
        // The lock is used for the first time, or the servers have just removed its node.
        if (deadline.hasPassed()) {
          throw failures.temporary("the lock's node could not be created in time", e);
        }
      }
    }
  }

  private void requireAgreementOrLeave(Claim claim, LockQueue queue, Deadline deadline)
      throws InterruptedException {
    try {
      requireAgreement(claim, queue);
    } catch (LockConfigurationException disagreement) {
      try {
        release(claim, deadline);
        claim.attach(null); // so that the engine's own release has nothing left to ask
      } catch (LockException e) {
        disagreement.addSuppressed(e); // the engine releases it again
      }
      throw disagreement;
    }
  }

  /**
   * Refuses a claim that uses a lock differently from the first in its queue. Of two that disagree
   * the later one is refused, and never the earlier, which does not look behind itself.
   */
  private static void requireAgreement(Claim claim, LockQueue queue) {
    Share use = queue.use();
    if (use != null && !claim.share().agreesWith(use)) {
      throw claim.share().disagreement(claim.name(), use);
    }
  }

  /**
   * Wakes the waiter behind a node that was granted, by a write that changes nothing. Does not wait
   * for it: waiters look again now and then, and if this session ends, the node's end wakes them.
   */
  void announce(Claim claim, QueueNode node) {
    node.session().rewrite(node.path(), label(claim));
  }

  private static byte[] label(Claim claim) {
    return claim.label().getBytes(UTF_8);
  }

  private void requireKnownFormat(Session session, Deadline deadline) throws InterruptedException {
    try {
      session.requireKnownFormat(failures, deadline);
    } catch (KeeperException e) {
      throw failures.explain(e);
    }
  }

  private QueueNode confirmed(
      Session session, Claim claim, long sentAt, String prefix, Session.Created created) {
    session.certainty().confirm(sentAt);
    int number = Integer.parseInt(created.path().substring(prefix.length()));
    QueueNode node = new QueueNode(session, claim, number, created.stat().getCzxid(), null);
    claim.attach(node);
    if (created.stat().getEphemeralOwner() != session.id()) {
      throw failures.temporary("the new node belongs to another session", null);
    }
    session.requireLongEnough(failures);
    if (node.name().isBeyondLast()) {
      throw failures.temporary(
          "the lock's node has used up its sequence numbers; it counts from 0 again when no client"
              + " holds or waits for the lock",
          null);
    }
    return node;
  }

  /** A lock's node must exist now; creates those above it if they are missing, too. */
  private void requireCreated(
      Session session, ReplyFuture<Session.Created> parent, Deadline deadline)
      throws KeeperException, InterruptedException {
    try {
      parent.await(deadline);
    } catch (KeeperException e) {
      if (Failures.isNoNode(e)) {
        createNamespace(session, deadline);
      } else if (e.code() != Code.NODEEXISTS) {
        throw e;
      }
    }
  }

  private void createNamespace(Session session, Deadline deadline) throws InterruptedException {
    for (int end = 0; end < namespacePath.length(); ) {
      int slash = namespacePath.indexOf('/', end + 1);
      end = slash < 0 ? namespacePath.length() : slash;
      String path = namespacePath.substring(0, end);
      byte[] data = slash < 0 ? StoredFormat.mark() : NO_DATA;
      try {
        session.create(path, data, accessLists.of(path), CreateMode.CONTAINER).await(deadline);
      } catch (KeeperException e) {
        if (Failures.isNoNode(e)) {
          throw failures.noChroot(e);
        }
        if (e.code() != Code.NODEEXISTS) {
          throw failures.explain(e);
        }
      }
    }
  }

  Attempt grant(Claim claim, QueueNode node) {
    Session session = node.session();
    if (!session.hold(claim)) {
      session.drop(claim);
      throw failures.sessionEnded();
    }
    return new Attempt.Granted(
        Grant.onSession(
            claim,
            node.token(),
            session.certainty().confirmedAt(),
            session.certainty().validityPerConfirmation(),
            session.timeout()));
  }

  // --- renewing -------------------------------------------------------------------------------

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    return renewAll(List.of(grant), deadline).get(0);
  }

  /**
   * One committed transaction for each session: it confirms the session, and finds the deleted
   * nodes. All are sent before the first is waited for, so a session without a connection costs
   * only its own grants.
   */
  @Override
  public int maxGrantsPerRenewal() {
    return 256;
  }

  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    Map<Session, List<Grant>> bySession = new LinkedHashMap<>();
    for (Grant grant : grants) {
      bySession.computeIfAbsent(node(grant).session(), any -> new ArrayList<>()).add(grant);
    }
    List<SessionRenewal> renewals = new ArrayList<>();
    bySession.forEach((session, its) -> renewals.add(new SessionRenewal(this, session, its)));
    Map<Grant, Renewal> outcomes = new HashMap<>();
    for (SessionRenewal renewal : renewals) {
      outcomes.putAll(renewal.await(deadline));
    }
    return grants.stream().map(outcomes::get).toList();
  }

  static QueueNode node(Grant grant) {
    if (grant.claim().attachment() instanceof QueueNode node) {
      return node;
    }
    throw new IllegalStateException("not granted here: " + grant.claim());
  }

  // --- releasing ------------------------------------------------------------------------------

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    if (claim.attachment() instanceof QueueNode node) {
      node.session().drop(claim);
      boolean existed = deleteOwn(node.session(), node.path(), node.name(), deadline);
      node.session().nodeGone(claim);
      SoleUse use = node.soleUse();
      if (existed && use != null) {
        node.session().soleUses().add(node.lockPath(), use);
      }
      return existed;
    }
    if (claim.attachment() == null) {
      return false;
    }
    // Whether the node was created is in doubt; the listing comes after that request.
    boolean any = false;
    String lock = lockPath(claim);
    Session session = (Session) claim.attachment();
    for (NodeName name : listCommitted(session.succession(), lock, deadline).of(claim.id())) {
      any |= deleteOwn(session, lock + "/" + name.full(), name, deadline);
    }
    session.nodeGone(claim);
    return any;
  }

  private boolean deleteOwn(Session session, String path, NodeName name, Deadline deadline)
      throws InterruptedException {
    try {
      return delete(name, session.succession().current().delete(path), deadline);
    } catch (LockConfigurationException e) {
      // The servers check the permission before they look whether the node exists.
      if (session.hasEnded() || !mayExist(path, name, deadline)) {
        return false;
      }
      throw e;
    }
  }

  /** The servers check no permission when they end a session. */
  @Override
  public boolean endSession(Claim claim, Duration refusedFor, LockConfigurationException refusal) {
    // A claim whose node is in doubt has only its session attached.
    Session session =
        claim.attachment() instanceof QueueNode node
            ? node.session()
            : (Session) claim.attachment();
    if (session == null) {
      return false;
    }
    if (refusedFor.compareTo(session.timeout()) >= 0) {
      session
          .succession()
          .giveUp(
              session,
              "the servers refuse to delete our node at "
                  + lockPath(claim)
                  + ": "
                  + refusal.getMessage());
    }
    return true;
  }

  /** Whether a node is in the queue; true if the servers do not answer. */
  private boolean mayExist(String path, NodeName name, Deadline deadline)
      throws InterruptedException {
    try {
      return listCommitted(sessions.first(), path.substring(0, path.lastIndexOf('/')), deadline)
              .positionOf(name)
          >= 0;
    } catch (LockException e) {
      return true;
    }
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    String lock = LockPaths.of(namespacePath, name);
    LockQueue queue = committedQueue(lock, deadline);
    // All at the same time: of hundreds, one after the other, some would be left at the deadline.
    Map<NodeName, ReplyFuture<Boolean>> deletions = new LinkedHashMap<>();
    for (NodeName holder : queue.nodes().subList(0, queue.holders())) {
      deletions.put(holder, sessions.first().current().delete(lock + "/" + holder.full()));
    }
    boolean held = false;
    for (var each : deletions.entrySet()) {
      held |= delete(each.getKey(), each.getValue(), deadline);
    }
    return held;
  }

  /** Deletes a node. No other node ever gets its name, so the request may be repeated. */
  private boolean delete(NodeName name, ReplyFuture<Boolean> first, Deadline deadline)
      throws InterruptedException {
    boolean inDoubt = false;
    ReplyFuture<Boolean> deletion = first;
    while (true) {
      try {
        deletion.await(deadline);
        if (name.isWorn()) {
          // The servers refuse this as long as the queue is not empty.
          String path = deletion.path();
          deletion.session().delete(path.substring(0, path.lastIndexOf('/')));
        }
        return true;
      } catch (KeeperException e) {
        if (Failures.isNoNode(e)) {
          return inDoubt;
        }
        if (!Failures.isConnectionLoss(e) || deadline.hasPassed()) {
          LockException problem = failures.explain(e);
          throw inDoubt ? afterDoubt(problem) : problem;
        }
        inDoubt = true;
      }
      try {
        deletion = deletion.session().succession().current().delete(deletion.path());
      } catch (LockConfigurationException e) {
        throw afterDoubt(e);
      }
    }
  }

  /** Whatever refuses the repeated request: the first may have been carried out. */
  private LockException afterDoubt(LockException problem) {
    return problem instanceof LockConfigurationException
        ? failures.temporary("the connection broke, and then: " + problem.getMessage(), problem)
        : problem;
  }

  // --- reading --------------------------------------------------------------------------------

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    String lock = LockPaths.of(namespacePath, name);
    while (true) {
      LockQueue queue = committedQueue(lock, deadline);
      if (queue.isEmpty()) {
        return LockStates.free(name);
      }
      Map<NodeName, Session.NodeData> present = present(lock, queue, deadline);
      // If all nodes have gone meanwhile, others may have come.
      if (!present.isEmpty()) {
        return held(name, queue, present);
      }
    }
  }

  /**
   * The state of a held lock.
   *
   * @param listed its queue
   * @param present the data of those nodes of it that still exist
   */
  static LockState held(String name, LockQueue listed, Map<NodeName, Session.NodeData> present) {
    LockQueue queue = listed.only(present.keySet());
    int count = queue.holders();
    List<LockState.Holder> holders = new ArrayList<>();
    List<String> waiters = new ArrayList<>();
    for (NodeName node : queue.nodes()) {
      Session.NodeData data = present.getOrDefault(node, Session.NodeData.REFUSED);
      if (holders.size() < count) {
        holders.add(holder(node, data, listed));
      } else {
        waiters.add(data.text());
      }
    }
    Share use = queue.nodes().get(0).share();
    return LockStates.held(name, use.kind(), use.capacity(), holders, waiters);
  }

  private static LockState.Holder holder(NodeName node, Session.NodeData data, LockQueue listed) {
    if (data.equals(Session.NodeData.REFUSED)) {
      return LockStates.holder(node.share().kind(), node.share().weight(), null, null, null, null);
    }
    // The servers know when a node joined the queue, and not when it was granted. It was granted at
    // once if it is the last, and no node has come or gone since.
    boolean atOnce =
        listed.positionOf(node) == listed.nodes().size() - 1 && listed.lastChange() == data.czxid();
    return LockStates.holder(
        node.share().kind(),
        node.share().weight(),
        data.text(),
        data.czxid(),
        null,
        atOnce ? data.createdAt() : null);
  }

  @Override
  public LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    Session session = sessions.first().current();
    try {
      session.requireKnownFormat(failures, deadline);
      Listing listing = new Listing(session, namespacePath, failures, deadline);
      SoftReference<Listing> last = lastListing;
      LockPage page = listing.page(prefix, cursor, limit, last == null ? null : last.get());
      lastListing = new SoftReference<>(listing);
      return page;
    } catch (KeeperException e) {
      throw failures.explain(e);
    }
  }

  /** The data of a queue's nodes, without those that were deleted meanwhile. */
  private Map<NodeName, Session.NodeData> present(String lock, LockQueue queue, Deadline deadline)
      throws InterruptedException {
    var replies = sessions.first().current().dataOf(lock, queue.nodes());
    Map<NodeName, Session.NodeData> data = new HashMap<>();
    for (var reply : replies.entrySet()) {
      try {
        data.put(reply.getKey(), reply.getValue().await(deadline));
      } catch (KeeperException e) {
        if (!Failures.isNoNode(e)) {
          throw failures.explain(e);
        }
      }
    }
    return data;
  }

  /** The queue at a moment within this call; refused if it has a foreign node. */
  private LockQueue committedQueue(String lock, Deadline deadline) throws InterruptedException {
    return checked(lock, listCommitted(sessions.first(), lock, deadline));
  }

  /**
   * The queue at a moment within this call. A listing right behind a committed transaction is no
   * older than that. A sync is not enough: a leader answers a sync of its own clients without
   * waiting until it has applied what the followers already have (<a
   * href="https://issues.apache.org/jira/browse/ZOOKEEPER-1675">ZOOKEEPER-1675</a>).
   */
  private LockQueue listCommitted(Sessions way, String lock, Deadline deadline)
      throws InterruptedException {
    return list(way, lock, Session::commit, deadline);
  }

  /** The queue as the connected server sees it once it has caught up with its leader. */
  private LockQueue listAfterSync(String lock, Deadline deadline) throws InterruptedException {
    return list(sessions.first(), lock, session -> session.sync(lock), deadline);
  }

  private LockQueue list(
      Sessions way, String lock, Function<Session, ReplyFuture<?>> catchUp, Deadline deadline)
      throws InterruptedException {
    while (true) {
      Session session = way.current();
      ReplyFuture<?> caughtUp = catchUp.apply(session);
      ReplyFuture<Session.Children> listing = session.children(lock);
      try {
        caughtUp.await(deadline);
        return LockQueue.of(listing.await(deadline));
      } catch (KeeperException e) {
        if (Failures.isNoNode(e)) {
          return LockQueue.EMPTY;
        }
        if (!Failures.isConnectionLoss(e) || deadline.hasPassed()) {
          throw failures.explain(e);
        }
      }
    }
  }

  /** Refuses a queue that has a foreign node. */
  LockQueue checked(String lock, LockQueue queue) {
    List<String> foreign = queue.foreign();
    if (!foreign.isEmpty()) {
      throw failures.foreignNode(lock + "/" + foreign.get(0));
    }
    return queue;
  }

  private String lockPath(Claim claim) {
    return LockPaths.of(namespacePath, claim.name());
  }

  @Override
  public void close() {
    sessions.close();
  }
}
