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
 * Locks as queues of ephemeral sequential nodes below a container node. This is the recipe of
 * ZooKeeper's documentation with these differences:
 *
 * <ul>
 *   <li>The requests that create a node and list the queue are sent back to back. A session keeps
 *       their order, so the listing shows every earlier node, and an uncontended lock costs one
 *       round trip.
 *   <li>A node's name begins with the claim's id. So the claim's node can be found and deleted
 *       whatever became of the request that created it, and no other node is ever touched.
 *   <li>No write is repeated automatically. A node that is found after a lost connection could
 *       belong to an earlier session (CURATOR-604), so a grant requires that the reply to the
 *       creation showed the node's owner.
 *   <li>A grant is valid only as long as the session is certain to last, see {@link
 *       SessionCertainty}.
 *   <li>Readers and requests for permits wait in the same queue as all others, see {@link
 *       LockQueue}. Whenever a claim is granted, all claims ahead of it were granted earlier. So
 *       tokens that are taken from the creation of the nodes rise with the grants.
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

  /**
   * The names of the last listing. Concurrent listings overwrite it, and request the names again.
   */
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
    // The first listing costs no write, and is enough if there is room: the client's own node then
    // shows which claim came first. To refuse a claim takes a listing after a commit.
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

  /** A node of this client, and the queue just after its creation. */
  private record Entered(QueueNode node, LockQueue queue, int position) {}

  private Entered enter(Claim claim, Deadline deadline) throws InterruptedException {
    Session session = sessions.reserve(claim, deadline);
    try {
      return enter(session, claim, deadline);
    } finally {
      if (claim.attachment() == null) {
        session.forgetNode(claim);
      }
    }
  }

  private Entered enter(Session session, Claim claim, Deadline deadline)
      throws InterruptedException {
    String lock = lockPath(claim);
    String prefix = LockPaths.nodePrefix(namespacePath, claim);
    byte[] label = label(claim);
    SoleUse previousUse = session.soleUses().take(lock);
    boolean skipsListing = previousUse != null && previousUse.isLikelyToProve();
    for (boolean first = true; ; first = false) {
      requireKnownFormat(session, deadline);
      ReplyFuture<Session.Created> parent =
          first ? null : session.create(lock, NO_DATA, accessLists.of(lock), CreateMode.CONTAINER);
      claim.attach(session);
      long sentAt = time.nanoTime();
      ReplyFuture<Session.Created> created =
          session.createOwn(prefix, label, accessLists.of(prefix));
      ReplyFuture<Session.Children> listing = skipsListing ? null : session.children(lock);
      try {
        // Replies come in order, so waiting for the last one costs a single wake-up.
        (listing == null ? created : listing).awaitEnd(deadline);
        if (parent != null) {
          requireCreated(session, parent, deadline);
        }
        QueueNode node = confirmNode(session, claim, sentAt, prefix, created.await(deadline));
        LockQueue queue;
        if (listing == null && previousUse != null && previousUse.proves(node)) {
          queue = LockQueue.ofOne(node);
        } else {
          ReplyFuture<Session.Children> children =
              listing == null ? session.children(lock) : listing;
          queue = requireNoForeignNode(lock, LockQueue.of(children.await(deadline)));
        }
        int position = queue.positionOf(node.name());
        if (position < 0) {
          throw failures.nodeDeleted();
        }
        requireAgreementOrLeave(claim, queue, deadline);
        // A name that is used only once, as most are, leaves nothing in memory.
        if (queue.nodes().size() == 1 && node.number() > 0) {
          node = node.withSoleUse(SoleUses.after(previousUse, node));
          claim.attach(node);
        }
        return new Entered(node, queue, position);
      } catch (KeeperException e) {
        if (created.isRefused()) {
          claim.attach(null);
        }
        skipsListing = false;
        if (!Failures.isNoNode(e)) {
          throw failures.explain(e);
        }
        // The lock is new, or the servers have just removed its node.
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
        claim.attach(null); // so that the engine's own release sends nothing
      } catch (LockException e) {
        disagreement.addSuppressed(e); // the engine repeats the release
      }
      throw disagreement;
    }
  }

  /**
   * Refuses a claim that disagrees with the first in the queue on the kind or capacity of the lock.
   * Of two claims that disagree, only the later one is refused: the earlier one does not look
   * behind itself.
   */
  private static void requireAgreement(Claim claim, LockQueue queue) {
    Share use = queue.use();
    if (use != null && !claim.share().agreesWith(use)) {
      throw claim.share().disagreement(claim.name(), use);
    }
  }

  /**
   * Wakes the waiter behind a granted node by a write that changes nothing. Does not wait for the
   * reply: waiters also poll, and if this session ends, the deletion of the node wakes them.
   */
  void announceGrant(Claim claim, QueueNode node) {
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

  private QueueNode confirmNode(
      Session session, Claim claim, long sentAt, String prefix, Session.Created created) {
    session.certainty().confirm(sentAt);
    int number = Integer.parseInt(created.path().substring(prefix.length()));
    QueueNode node = new QueueNode(session, claim, number, created.stat().getCzxid(), null);
    claim.attach(node);
    if (created.stat().getEphemeralOwner() != session.id()) {
      throw failures.temporary("the new node belongs to another session", null);
    }
    session.requireMinTimeout(failures);
    if (node.name().isBeyondMaxNumber()) {
      throw failures.temporary(
          "the lock's node has used up its sequence numbers; it counts from 0 again when no client"
              + " holds or waits for the lock",
          null);
    }
    return node;
  }

  /** Requires that the lock's node exists now. Creates the nodes above it if they are missing. */
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
    if (!session.addGrant(claim)) {
      session.removeGrant(claim);
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

  /** Limits the checks in one transaction. */
  @Override
  public int maxGrantsPerRenewal() {
    return 256;
  }

  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    // Every session's transaction is sent before the first reply is awaited, so a session without a
    // connection loses only its own grants.
    Map<Session, List<Grant>> bySession = new LinkedHashMap<>();
    for (Grant grant : grants) {
      bySession.computeIfAbsent(node(grant).session(), any -> new ArrayList<>()).add(grant);
    }
    List<SessionRenewal> renewals = new ArrayList<>();
    bySession.forEach(
        (session, ofSession) -> renewals.add(new SessionRenewal(this, session, ofSession)));
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
      node.session().removeGrant(claim);
      boolean existed = deleteOwn(node.session(), node.path(), node.name(), deadline);
      node.session().forgetNode(claim);
      SoleUse use = node.soleUse();
      if (existed && use != null) {
        node.session().soleUses().add(node.lockPath(), use);
      }
      return existed;
    }
    if (claim.attachment() == null) {
      return false;
    }
    // The creation of the node is in doubt. The listing follows that request, so it shows the node.
    boolean deleted = false;
    String lock = lockPath(claim);
    Session session = (Session) claim.attachment();
    for (NodeName name : listCommitted(session.sessions(), lock, deadline).of(claim.id())) {
      deleted |= deleteOwn(session, lock + "/" + name.full(), name, deadline);
    }
    session.forgetNode(claim);
    return deleted;
  }

  private boolean deleteOwn(Session session, String path, NodeName name, Deadline deadline)
      throws InterruptedException {
    try {
      return delete(name, session.sessions().current().delete(path), deadline);
    } catch (LockConfigurationException e) {
      // The servers check the permission before they check whether the node exists.
      if (session.hasEnded() || !mayExist(path, name, deadline)) {
        return false;
      }
      throw e;
    }
  }

  /** Ends the session, for which the servers check no permission. */
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
          .sessions()
          .endEarly(
              session,
              "the servers refuse to delete this client's node at "
                  + lockPath(claim)
                  + ": "
                  + refusal.getMessage());
    }
    return true;
  }

  /** Whether a node is in the queue; true also if the servers do not answer. */
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
    // Deletes all at the same time: hundreds of successive requests might take too long.
    Map<NodeName, ReplyFuture<Boolean>> deletions = new LinkedHashMap<>();
    for (NodeName holder : queue.nodes().subList(0, queue.holders())) {
      deletions.put(holder, sessions.first().current().delete(lock + "/" + holder.full()));
    }
    boolean deleted = false;
    for (var each : deletions.entrySet()) {
      deleted |= delete(each.getKey(), each.getValue(), deadline);
    }
    return deleted;
  }

  /** Deletes a node. The request may be repeated, because no other node ever gets its name. */
  private boolean delete(NodeName name, ReplyFuture<Boolean> first, Deadline deadline)
      throws InterruptedException {
    boolean inDoubt = false;
    ReplyFuture<Boolean> deletion = first;
    while (true) {
      try {
        deletion.await(deadline);
        if (name.isHalfUsedUp()) {
          // The servers refuse this while the queue is not empty.
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
        deletion = deletion.session().sessions().current().delete(deletion.path());
      } catch (LockConfigurationException e) {
        throw afterDoubt(e);
      }
    }
  }

  /**
   * Makes the refusal of a repeated request temporary, because the first one may have been carried
   * out.
   */
  private LockException afterDoubt(LockException problem) {
    return problem instanceof LockConfigurationException
        ? failures.temporary(
            "the connection broke, and the repeated request failed: " + problem.getMessage(),
            problem)
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
      Map<NodeName, Session.NodeData> existing = existingNodes(lock, queue, deadline);
      // If all nodes are gone by now, others may have come.
      if (!existing.isEmpty()) {
        return heldState(name, queue, existing);
      }
    }
  }

  /**
   * The state of a held lock.
   *
   * @param listed its queue
   * @param existing the data of those of its nodes that still exist
   */
  static LockState heldState(
      String name, LockQueue listed, Map<NodeName, Session.NodeData> existing) {
    LockQueue queue = listed.retaining(existing.keySet());
    int holderCount = queue.holders();
    List<LockState.Holder> holders = new ArrayList<>();
    List<String> waiters = new ArrayList<>();
    for (NodeName node : queue.nodes()) {
      Session.NodeData data = existing.getOrDefault(node, Session.NodeData.REFUSED);
      if (holders.size() < holderCount) {
        holders.add(holder(node, data, listed));
      } else {
        waiters.add(data.text());
      }
    }
    Share first = queue.nodes().get(0).share();
    return LockStates.held(name, first.kind(), first.capacity(), holders, waiters);
  }

  private static LockState.Holder holder(NodeName node, Session.NodeData data, LockQueue listed) {
    if (data.equals(Session.NodeData.REFUSED)) {
      return LockStates.holder(node.share().kind(), node.share().weight(), null, null, null, null);
    }
    // The servers know when a node joined the queue, but not when it was granted. It was granted at
    // once if it is the last, and no node has come or gone since.
    boolean grantedAtOnce =
        listed.positionOf(node) == listed.nodes().size() - 1 && listed.lastChange() == data.czxid();
    return LockStates.holder(
        node.share().kind(),
        node.share().weight(),
        data.text(),
        data.czxid(),
        null,
        grantedAtOnce ? data.createdAt() : null);
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

  /** The data of those nodes of a queue that still exist. */
  private Map<NodeName, Session.NodeData> existingNodes(
      String lock, LockQueue queue, Deadline deadline) throws InterruptedException {
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

  /** Lists the queue as of a moment within this call. Refuses a queue that has a foreign node. */
  private LockQueue committedQueue(String lock, Deadline deadline) throws InterruptedException {
    return requireNoForeignNode(lock, listCommitted(sessions.first(), lock, deadline));
  }

  /**
   * Lists the queue as of a moment within this call. A listing that follows a committed transaction
   * is no older than the transaction. A sync is not enough: a leader answers a sync of its own
   * clients without waiting until it has applied what the followers already have (<a
   * href="https://issues.apache.org/jira/browse/ZOOKEEPER-1675">ZOOKEEPER-1675</a>).
   */
  private LockQueue listCommitted(Sessions through, String lock, Deadline deadline)
      throws InterruptedException {
    return list(through, lock, Session::commit, deadline);
  }

  /** Lists the queue on the connected server once it has caught up with its leader. */
  private LockQueue listAfterSync(String lock, Deadline deadline) throws InterruptedException {
    return list(sessions.first(), lock, session -> session.sync(lock), deadline);
  }

  private LockQueue list(
      Sessions through, String lock, Function<Session, ReplyFuture<?>> catchUp, Deadline deadline)
      throws InterruptedException {
    while (true) {
      Session session = through.current();
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

  LockQueue requireNoForeignNode(String lock, LockQueue queue) {
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
