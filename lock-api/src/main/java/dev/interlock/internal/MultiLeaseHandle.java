package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The program's lease of a set: it holds all members, or none. */
final class MultiLeaseHandle extends ProgramLease implements MultiLease {

  private final State state;

  MultiLeaseHandle(Engine engine, List<LeaseState> members, @Nullable Object site) {
    this.state = new State(engine, List.copyOf(members));
    members.forEach(member -> member.hold().setCallSite(site));
    state.watchMembers();
    members.forEach(member -> member.setHandle(this));
  }

  /** The state of the set, apart from the handle, which can so become unreachable. */
  private static final class State implements Observers.Subject {
    private final Engine engine;
    private final List<LeaseState> members;
    private final String name;
    private final Observers observers;

    /** The reasons why members are at risk, by name; the first is that of the set. */
    @GuardedBy("this")
    private final Map<String, LockException> risks = new LinkedHashMap<>();

    /** The members that were renewed since the last reported renewal of the set. */
    @GuardedBy("this")
    private final Set<String> renewed = new HashSet<>();

    /** The outcome of its release; the caller that begins the release completes this. */
    private final CompletableFuture<ReleaseOutcome> released = new CompletableFuture<>();

    @GuardedBy("this")
    private boolean releasing;

    @GuardedBy("this")
    private @Nullable LeaseLostException loss;

    State(Engine engine, List<LeaseState> members) {
      this.engine = engine;
      this.members = members;
      this.observers = new Observers(engine.notifier, this, this);
      this.name = String.join(", ", members.stream().map(LeaseState::name).toList());
    }

    void watchMembers() {
      for (LeaseState member : members) {
        member.observers().add(this::onMemberEvent);
        member.onLoss(this::onMemberLoss);
      }
    }

    /** Ends the set when one member is lost. Never called under a lease's monitor. */
    private void onMemberLoss(LeaseLostException why) {
      LeaseLostException setLoss =
          new LeaseLostException(
              name, why.reason(), "\"" + why.name() + "\": " + why.detail(), why);
      synchronized (this) {
        // Even during its release: a member that turns out to be lost was not released.
        if (loss != null) {
          return;
        }
        loss = setLoss;
        // First, so that no failure of another member delays it.
        observers.signalLoss(setLoss);
        observers.report(new Events.Lost(source(), setLoss, heldFor()));
      }
      if (why.reason() != LossReason.CLOSED) {
        String detail = "\"" + why.name() + "\" was lost";
        for (LeaseState member : members) {
          member.loseIfHeld(LossReason.MEMBER_LOST, detail);
        }
      }
      engine.notifier.flush();
    }

    @Override
    public Events.Source source() {
      Events.Source first = members.get(0).source();
      return new Events.Source(
          name, first.kind(), 0, first.acquisition(), first.time(), first.label());
    }

    /** Called under the member's monitor. */
    private synchronized void onMemberEvent(LockEvent event) {
      if (isEnded()) {
        return;
      }
      if (event instanceof LockEvent.Renewed) {
        risks.remove(event.name());
        renewed.add(event.name());
        if (renewed.size() == members.size()) {
          renewed.clear();
          observers.report(new Events.Renewed(source(), remaining()));
        }
      } else if (event instanceof LockEvent.RenewalFailed failed) {
        observers.report(new Events.RenewalFailed(source(), remaining(), failed.failure()));
      } else if (event instanceof LockEvent.AtRisk member) {
        if (risks.isEmpty()) {
          observers.report(new Events.AtRisk(source(), remaining(), member.failure()));
        }
        risks.put(event.name(), member.failure());
      }
    }

    @Override
    public Duration heldFor() {
      return members.get(0).heldFor();
    }

    @Override
    public synchronized @Nullable LockException risk() {
      return isEnded() || risks.isEmpty() ? null : risks.values().iterator().next();
    }

    @Override
    public Duration remaining() {
      return Collections.min(members.stream().map(LeaseState::remaining).toList());
    }

    @Override
    public synchronized @Nullable LeaseLostException loss() {
      return loss;
    }

    /** Whether the set was lost, or its release has begun. */
    synchronized boolean isEnded() {
      return loss != null || releasing;
    }

    /** Begins the release of the set; false if another caller has. */
    synchronized boolean beginRelease() {
      boolean first = !releasing;
      releasing = true;
      return first;
    }

    void reportReleased(ReleaseOutcome outcome) {
      synchronized (this) {
        observers.report(new Events.Released(source(), outcome, heldFor()));
      }
      engine.notifier.flush();
    }
  }

  @Override
  Engine engine() {
    return state.engine;
  }

  @Override
  List<LeaseState> members() {
    return state.members;
  }

  @Override
  Duration remaining() {
    return state.remaining();
  }

  @Override
  Observers observers() {
    return state.observers;
  }

  @Override
  public String name() {
    return state.name;
  }

  @Override
  public List<String> names() {
    return members().stream().map(LeaseState::name).toList();
  }

  @Override
  public long fencingToken() {
    if (members().size() > 1) {
      throw new UnsupportedOperationException(
          "each of " + name() + " has its own token; use fencingToken(name)");
    }
    return tokenOf(members().get(0));
  }

  @Override
  public long fencingToken(String name) {
    requireNonNull(name, "name");
    for (LeaseState member : members()) {
      if (member.name().equals(name)) {
        return tokenOf(member);
      }
    }
    throw new IllegalArgumentException("\"" + name + "\" is not one of the names " + name());
  }

  @Override
  public boolean isHeld() {
    return !state.isEnded() && members().stream().allMatch(LeaseState::isHeld);
  }

  @Override
  public void ensureHeld() {
    LeaseLostException loss = state.loss();
    if (loss != null) {
      throw new LeaseLostException(loss.name(), loss.reason(), loss.detail(), loss);
    }
    boolean released = state.isEnded();
    // Check the members even after the release: one may have been lost before it, and the set may
    // not know that yet.
    for (LeaseState member : members()) {
      if (!released || member.loss() != null) {
        member.ensureHeld();
      }
    }
    if (released) {
      throw new IllegalStateException("the lease of \"" + name() + "\" has been released");
    }
  }

  @Override
  public ReleaseOutcome release() {
    StackRoom.require();
    Deadline deadline = engine().requestDeadline();
    SetRelease release = new SetRelease();
    if (release.begin()) {
      return release.finish(deadline);
    }
    return Futures.join(engine().platform, state.released);
  }

  /** Releases a lease that the program never got. */
  void releaseUnused() {
    members().forEach(LeaseState::forgetMinHold);
    release();
  }

  @Override
  public CompletableFuture<ReleaseOutcome> releaseAsync() {
    StackRoom.require();
    SetRelease release = new SetRelease();
    AsyncRequest<ReleaseOutcome> finish = new AsyncRequest<>(engine(), release::finish);
    if (release.begin()) {
      return finish.start();
    }
    // Waiting must not occupy a thread: the release under way may need that thread.
    return engine().notifier.follow(state.released);
  }

  /**
   * A release of all members. It is made before it begins, and begins without allocating memory: a
   * release that has begun must be finished, and other callers wait for its outcome.
   */
  private final class SetRelease {
    /** The members in reverse order, so that a waiter for the first one finds the others free. */
    private final List<LeaseState> reversed = new ArrayList<>(members());

    private final List<Release> releases;
    private final List<Release> begun = new ArrayList<>(reversed.size());

    private final Set<ReleaseOutcome> outcomes = EnumSet.noneOf(ReleaseOutcome.class);

    SetRelease() {
      Collections.reverse(reversed);
      releases = reversed.stream().map(Release::new).toList();
    }

    /** Begins the release: from here on no member is held; false if another caller has begun it. */
    boolean begin() {
      if (!state.beginRelease()) {
        return false;
      }
      for (int i = 0; i < releases.size(); i++) {
        try {
          CompletableFuture<ReleaseOutcome> otherRelease = reversed.get(i).beginRelease();
          if (otherRelease == null) {
            begun.add(releases.get(i));
          } else {
            outcomes.add(otherRelease.join());
          }
        } catch (Throwable e) {
          recordFailure(e);
        }
      }
      return true;
    }

    /**
     * Finishes the release with one deadline for all members: the background releases those that a
     * hung store leaves.
     */
    ReleaseOutcome finish(Deadline deadline) {
      ReleaseOutcome outcome = ReleaseOutcome.UNKNOWN;
      try {
        for (int i = 0; i < begun.size(); i++) {
          try {
            outcomes.add(begun.get(i).finish(null, deadline));
          } catch (Throwable e) {
            recordFailure(e);
          }
        }
        outcome = outcome();
        if (outcome != ReleaseOutcome.ALREADY_LOST) {
          state.reportReleased(outcome);
        }
      } finally {
        state.released.complete(outcome);
      }
      return outcome;
    }

    /** Records the failure of one member, which does not prevent the release of the others. */
    private void recordFailure(Throwable why) {
      Timer.logFailure("releasing a member of a set", why);
      outcomes.add(ReleaseOutcome.UNKNOWN);
    }

    private ReleaseOutcome outcome() {
      return Stream.of(
              ReleaseOutcome.ALREADY_LOST,
              ReleaseOutcome.UNKNOWN,
              ReleaseOutcome.DEFERRED,
              ReleaseOutcome.HANDED_OFF)
          .filter(outcomes::contains)
          .findFirst()
          .orElse(ReleaseOutcome.RELEASED);
    }
  }

  @Override
  public String toString() {
    return "MultiLease[" + name() + (isHeld() ? ", held]" : ", ended]");
  }
}
