package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LossReason;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The grants of one client that do not take the whole of their names: readers and permits. Several
 * grants of a name may be held at once, so their leases do not occupy the head of the {@link
 * LocalQueue}.
 */
final class SharedGrants {

  /**
   * A grant and its leases: one for a permit; for readers also those that waited behind the first
   * and were admitted with it. The grant is released with the last of them.
   */
  static final class SharedGrant {

    /** Its leases that have not ended, or whose end the store has not confirmed. */
    @GuardedBy("this")
    private final Set<LeaseState> leases = new LinkedHashSet<>();

    /** How many leases have not ended. */
    @GuardedBy("this")
    private int open;

    /** How many leases it has had. */
    @GuardedBy("this")
    private int issued;

    /** The loss that the store reported; applied to leases that are added later, too. */
    @GuardedBy("this")
    private @Nullable Consumer<LeaseState> loss;

    /**
     * Counts another lease.
     *
     * @return how many there were before, or -1 if the grant has ended or is used up
     */
    synchronized int open() {
      if ((issued > 0 && open == 0) || issued == Grant.LEASES_PER_GRANT) {
        return -1;
      }
      open++;
      return issued++;
    }

    /**
     * A lease ends, and no other takes its place. Called once for each.
     *
     * @return whether it was the last, so that the grant ends
     */
    synchronized boolean close() {
      open--;
      return open == 0;
    }

    /** Closes it if that ends the grant. */
    synchronized boolean closeLast() {
      return open == 1 && close();
    }

    /** The grant has not ended after all. Only for the caller whose close has ended it. */
    synchronized void reopen() {
      open++;
    }

    private synchronized void add(LeaseState lease) {
      leases.add(lease);
    }

    private synchronized boolean remove(LeaseState lease) {
      leases.remove(lease);
      return leases.isEmpty() && open == 0;
    }

    private synchronized List<LeaseState> leases() {
      return new ArrayList<>(leases);
    }

    private synchronized List<LeaseState> lose(Consumer<LeaseState> how) {
      loss = how;
      return leases();
    }

    /** Applies a loss that the store reported before the lease was added. Under no monitor. */
    void reportLoss(LeaseState added) {
      Consumer<LeaseState> how;
      synchronized (this) {
        how = loss;
      }
      if (how != null) {
        how.accept(added);
      }
    }
  }

  /** By the claims' identities. */
  private final ConcurrentHashMap<String, SharedGrant> grants = new ConcurrentHashMap<>();

  /** The attempts under way, for losses that the store reports before the lease has begun. */
  private final ConcurrentHashMap<String, AcquireLoop> attempts = new ConcurrentHashMap<>();

  void begin(Claim claim, AcquireLoop loop) {
    attempts.put(claim.id(), loop);
  }

  void end(Claim claim) {
    attempts.remove(claim.id());
  }

  void add(SharedGrant grant, LeaseState lease) {
    // The lease last: if either step fails, it is not in the grant.
    grants.put(lease.grant().claim().id(), grant);
    grant.add(lease);
  }

  void remove(SharedGrant grant, LeaseState lease) {
    if (grant.remove(lease)) {
      grants.remove(lease.grant().claim().id(), grant);
    }
  }

  /** The store reports that a grant is gone. */
  void lost(Claim claim, LossReason reason, String detail) {
    AcquireLoop loop = attempts.get(claim.id());
    if (loop != null) {
      loop.lost(claim, reason, detail);
    }
    SharedGrant grant = grants.get(claim.id());
    if (grant != null) {
      Consumer<LeaseState> loss = lease -> lease.lose(reason, detail);
      grant.lose(loss).forEach(loss);
    }
  }

  Stream<AcquireLoop> loops() {
    return attempts.values().stream();
  }

  Stream<LeaseState> leases() {
    return grants.values().stream().flatMap(grant -> grant.leases().stream());
  }

  int size() {
    return grants.size() + attempts.size();
  }

  boolean isEmpty() {
    return grants.isEmpty() && attempts.isEmpty();
  }
}
