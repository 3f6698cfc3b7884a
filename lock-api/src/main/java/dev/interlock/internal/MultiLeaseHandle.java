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
    members.forEach(member -> member.hold().site(site));
    state.watchMembers();
    members.forEach(member -> member.heldThrough(this));
  }

  /** Separate from the handle, so that the handle can become unreachable. */
  private static final class State implements Observers.Subject {
    private final Engine engine;
    private final List<LeaseState> members;
    private final String name;
    private final Observers observers;

    /** Why members are at risk, by their names; the first is why the set is. */
    @GuardedBy("this")
    private final Map<String, LockException> risks = new LinkedHashMap<>();

    /** The members renewed since the last renewal of the set was reported. */
    @GuardedBy("this")
    private final Set<String> renewed = new HashSet<>();

    /** How its release has ended; the caller that begins it completes this. */
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
        member.observers().add(this::noteMember);
        member.onLoss(this::memberLost);
      }
    }

    /** Ends the set when one member is lost. Never called under a lease's monitor. */
    private void memberLost(LeaseLostException why) {
      LeaseLostException mine =
          new LeaseLostException(
              name, why.reason(), "\"" + why.name() + "\": " + why.detail(), why);
      synchronized (this) {
        // Even during its release: a member that turns out to be lost then was not released.
        if (loss != null) {
          return;
        }
        loss = mine;
        // First, so that no failure of a sibling delays it.
        observers.signalLoss(mine);
        observers.note(new Events.Lost(source(), mine, heldFor()));
      }
      if (why.reason() != LossReason.CLOSED) {
        String detail = "\"" + why.name() + "\" was lost";
        for (LeaseState member : members) {
          member.loseHeld(LossReason.SIBLING_LOST, detail);
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
    private synchronized void noteMember(LockEvent event) {
      if (isEnded()) {
        return;
      }
      if (event instanceof LockEvent.Renewed) {
        risks.remove(event.name());
        renewed.add(event.name());
        if (renewed.size() == members.size()) {
          renewed.clear();
          observers.note(new Events.Renewed(source(), left()));
        }
      } else if (event instanceof LockEvent.RenewalFailed failed) {
        observers.note(new Events.RenewalFailed(source(), left(), failed.failure()));
      } else if (event instanceof LockEvent.AtRisk member) {
        if (risks.isEmpty()) {
          observers.note(new Events.AtRisk(source(), left(), member.failure()));
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
    public Duration left() {
      return Collections.min(members.stream().map(LeaseState::left).toList());
    }

    @Override
    public synchronized @Nullable LeaseLostException loss() {
      return loss;
    }

    /** Whether it was lost, or its release has begun. */
    synchronized boolean isEnded() {
      return loss != null || releasing;
    }

    /** Begins its release; false if another caller has. */
    synchronized boolean beginRelease() {
      boolean first = !releasing;
      releasing = true;
      return first;
    }

    void noteReleased(ReleaseOutcome outcome) {
      synchronized (this) {
        observers.note(new Events.Released(source(), outcome, heldFor()));
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
  Duration left() {
    return state.left();
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
    // Also after the release: a member may have been lost before it, and the set not know it yet.
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
    return Awaiting.join(engine().platform, state.released);
  }

  /** Releases a lease that its program never got. */
  void giveUp() {
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
    // It occupies no thread: the release that it waits for may need that thread.
    return engine().notifier.follow(state.released);
  }

  /**
   * A release of all members(). Made before it begins, and begun without memory: one that has begun
   * has to be finished, and other callers wait for its outcome.
   */
  private final class SetRelease {
    /** So that a waiter for the first finds the others free. */
    private final List<LeaseState> backwards = new ArrayList<>(members());

    private final List<Release> releases;
    private final List<Release> begun = new ArrayList<>(backwards.size());

    /** Those of the members(). */
    private final Set<ReleaseOutcome> outcomes = EnumSet.noneOf(ReleaseOutcome.class);

    SetRelease() {
      Collections.reverse(backwards);
      releases = backwards.stream().map(Release::new).toList();
    }

    /** From here on no member is held any more; false if another caller has begun it. */
    boolean begin() {
      if (!state.beginRelease()) {
        return false;
      }
      for (int i = 0; i < releases.size(); i++) {
        try {
          CompletableFuture<ReleaseOutcome> lost = backwards.get(i).beginRelease();
          if (lost == null) {
            begun.add(releases.get(i));
          } else {
            outcomes.add(lost.join());
          }
        } catch (Throwable e) {
          failed(e);
        }
      }
      return true;
    }

    /** With one deadline for all: the background releases what a hung store leaves. */
    ReleaseOutcome finish(Deadline deadline) {
      ReleaseOutcome outcome = ReleaseOutcome.UNKNOWN;
      try {
        for (int i = 0; i < begun.size(); i++) {
          try {
            outcomes.add(begun.get(i).finish(null, deadline));
          } catch (Throwable e) {
            failed(e);
          }
        }
        outcome = outcome();
        if (outcome != ReleaseOutcome.ALREADY_LOST) {
          state.noteReleased(outcome);
        }
      } finally {
        state.released.complete(outcome);
      }
      return outcome;
    }

    /** A failure of one does not prevent the release of the others. */
    private void failed(Throwable why) {
      Timer.failed("releasing a member of a set", why);
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
