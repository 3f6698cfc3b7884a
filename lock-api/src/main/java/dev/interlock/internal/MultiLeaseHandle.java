package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import com.google.common.collect.ImmutableList;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.Subscription;
import dev.interlock.spi.Deadline;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The program's lease of a set: it holds all members, or none. */
final class MultiLeaseHandle implements MultiLease {

  private final State state;

  MultiLeaseHandle(Engine engine, List<LeaseState> members, @Nullable Object site) {
    this.state = new State(engine, ImmutableList.copyOf(members));
    members.forEach(member -> member.hold().site(site));
    state.watchMembers();
    members.forEach(member -> member.heldThrough(this));
  }

  /** Separate from the handle, so that the handle can become unreachable. */
  private static final class State implements Observers.Subject {
    private final Engine engine;
    private final ImmutableList<LeaseState> members;
    private final String name;
    private final Observers observers;

    /** Gets the members' events as soon as there is a listener. */
    @GuardedBy("this")
    private boolean listening;

    /** The members at risk, and those renewed since the last renewal of the set was reported. */
    @GuardedBy("this")
    private final Set<String> atRisk = new HashSet<>();

    @GuardedBy("this")
    private final Set<String> renewed = new HashSet<>();

    /** Why the first of these members is at risk. */
    @GuardedBy("this")
    private @Nullable LockException risk;

    @GuardedBy("this")
    private boolean ended;

    @GuardedBy("this")
    private @Nullable LeaseLostException loss;

    State(Engine engine, ImmutableList<LeaseState> members) {
      this.engine = engine;
      this.members = members;
      this.observers = new Observers(engine.notifier, this, this);
      this.name = String.join(", ", members.stream().map(LeaseState::name).toList());
    }

    void watchMembers() {
      members.forEach(member -> member.onLoss(this::memberLost));
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
        ended = true;
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
          name, first.kind(), 0, first.acquisition(), first.time(), first.holder());
    }

    Subscription onEvent(Consumer<? super LockEvent> listener) {
      Subscription subscription = observers.onEvent(listener);
      boolean first;
      synchronized (this) {
        first = loss == null && !listening;
        listening |= first;
      }
      if (first) {
        members.forEach(member -> member.observers().add(this::noteMember));
        engine.notifier.flush();
      }
      return subscription;
    }

    /** Called under the member's monitor. */
    private synchronized void noteMember(LockEvent event) {
      if (ended) {
        return;
      }
      if (event instanceof LockEvent.Renewed) {
        atRisk.remove(event.name());
        risk = atRisk.isEmpty() ? null : risk;
        renewed.add(event.name());
        if (renewed.size() == members.size()) {
          renewed.clear();
          observers.note(new Events.Renewed(source(), left()));
        }
      } else if (event instanceof LockEvent.RenewalFailed failed) {
        observers.note(new Events.RenewalFailed(source(), left(), failed.problem()));
      } else if (event instanceof LockEvent.AtRisk member) {
        if (atRisk.isEmpty()) {
          risk = member.problem();
          observers.note(new Events.AtRisk(source(), left(), risk));
        }
        atRisk.add(event.name());
      }
    }

    @Override
    public Duration heldFor() {
      return members.get(0).heldFor();
    }

    @Override
    public synchronized @Nullable LockException risk() {
      return ended ? null : risk;
    }

    @Override
    public Duration left() {
      return Collections.min(members.stream().map(LeaseState::left).toList());
    }

    void noteReleased(ReleaseOutcome outcome) {
      synchronized (this) {
        observers.note(new Events.Released(source(), outcome, heldFor()));
      }
      engine.notifier.flush();
    }

    /** Returns whether this call is the one that ends the set. */
    synchronized boolean end() {
      boolean first = !ended;
      ended = true;
      return first;
    }

    @Override
    public synchronized @Nullable LeaseLostException loss() {
      return loss;
    }
  }

  @Override
  public String name() {
    return state.name;
  }

  @Override
  public List<String> names() {
    return state.members.stream().map(LeaseState::name).toList();
  }

  @Override
  public long fencingToken() {
    if (state.members.size() > 1) {
      throw new UnsupportedOperationException(
          "each of " + name() + " has its own token; use fencingToken(name)");
    }
    return LeaseHandle.tokenOf(state.members.get(0));
  }

  @Override
  public long fencingToken(String name) {
    requireNonNull(name, "name");
    for (LeaseState member : state.members) {
      if (member.name().equals(name)) {
        return LeaseHandle.tokenOf(member);
      }
    }
    throw new IllegalArgumentException("\"" + name + "\" is not one of " + name());
  }

  @Override
  public boolean isHeld() {
    if (state.loss() != null) {
      return false;
    }
    boolean held = true;
    for (LeaseState member : state.members) {
      held &= member.isHeld();
    }
    return held;
  }

  @Override
  public Duration remainingValidity() {
    return isHeld() ? state.left() : Duration.ZERO;
  }

  @Override
  public Duration effectiveTtl() {
    return Collections.min(
        state.members.stream().map(member -> member.grant().grant().effectiveTtl()).toList());
  }

  @Override
  public void ensureHeld() {
    LeaseLostException loss = state.loss();
    if (loss != null) {
      throw new LeaseLostException(loss.name(), loss.reason(), loss.detail(), loss);
    }
    state.members.forEach(LeaseState::ensureHeld);
  }

  @Override
  public void renew() throws InterruptedException {
    renew(state.engine.requestDeadline());
  }

  @Override
  public CompletableFuture<@Nullable Void> renewAsync() {
    return new AsyncRequest<>(state.engine, this::renew).start();
  }

  private @Nullable Void renew(Deadline deadline) throws InterruptedException {
    try {
      ensureHeld();
      state.engine.renewer.renewNow(
          state.members.stream().map(LeaseState::grant).toList(), deadline);
      state.members.forEach(LeaseState::ensureHeld);
    } finally {
      Reference.reachabilityFence(this);
    }
    return null;
  }

  @Override
  public ReleaseOutcome release() {
    StackRoom.require();
    Deadline deadline = state.engine.requestDeadline();
    SetRelease release = new SetRelease();
    release.begin();
    release.finish(deadline);
    release.others.forEach(
        other ->
            Awaiting.doneUninterruptibly(
                state.engine.platform, other, Deadline.never(state.engine.platform)));
    return release.outcome();
  }

  /** Releases a lease that its program never got. */
  void giveUp() {
    state.members.forEach(LeaseState::forgetMinHold);
    release();
  }

  @Override
  public CompletableFuture<ReleaseOutcome> releaseAsync() {
    StackRoom.require();
    SetRelease release = new SetRelease();
    AsyncRequest<Boolean> finish =
        new AsyncRequest<>(
            state.engine,
            deadline -> {
              release.finish(deadline);
              return true;
            });
    release.begin();
    List<CompletableFuture<?>> parts = new ArrayList<>(release.others);
    parts.add(finish.start());
    CompletableFuture<ReleaseOutcome> future = new CompletableFuture<>();
    // The others occupy no thread: their releases may need that thread.
    var unused =
        CompletableFuture.allOf(parts.toArray(new CompletableFuture<?>[0]))
            .thenRun(() -> state.engine.notifier.deliver(() -> future.complete(release.outcome())));
    return future;
  }

  /** Made before it begins: a member whose release has begun has to be finished. */
  private final class SetRelease {
    // Notices a member whose validity has ended, which ends the others.
    private final boolean held = isHeld();
    private final List<Release> mine = new ArrayList<>(state.members.size());
    private final Set<ReleaseOutcome> outcomes = EnumSet.noneOf(ReleaseOutcome.class);

    /** The outcomes of releases of members that another caller has begun. */
    private final List<CompletableFuture<ReleaseOutcome>> others =
        new ArrayList<>(state.members.size());

    private boolean first;

    /** From here on no member is held any more. */
    void begin() {
      // Backwards, so that a waiter for the first finds the others free.
      List<LeaseState> backwards = state.members.reverse();
      first = state.end();
      for (LeaseState member : backwards) {
        try {
          Release release = new Release(member);
          CompletableFuture<ReleaseOutcome> other = member.beginRelease();
          if (other == null) {
            mine.add(release);
          } else {
            others.add(other);
          }
        } catch (Throwable e) {
          failed(e);
        }
      }
    }

    /** With one deadline for all: the background releases what a hung store leaves. */
    void finish(Deadline deadline) {
      for (Release release : mine) {
        try {
          outcomes.add(release.finish(null, deadline));
        } catch (Throwable e) {
          failed(e);
        }
      }
    }

    /** A failure of one does not prevent the release of the others. */
    private void failed(Throwable why) {
      Timer.failed("the release of one of a set", why);
      outcomes.add(ReleaseOutcome.UNKNOWN);
    }

    /** Called when all releases have ended. */
    ReleaseOutcome outcome() {
      others.forEach(other -> outcomes.add(other.join()));
      ReleaseOutcome outcome = outcome(outcomes);
      if (first && outcome != ReleaseOutcome.ALREADY_LOST) {
        state.noteReleased(outcome);
      }
      return outcome;
    }

    private ReleaseOutcome outcome(Set<ReleaseOutcome> ofMembers) {
      if ((first && !held) || ofMembers.contains(ReleaseOutcome.ALREADY_LOST)) {
        return ReleaseOutcome.ALREADY_LOST;
      }
      return Stream.of(ReleaseOutcome.UNKNOWN, ReleaseOutcome.DEFERRED, ReleaseOutcome.HANDED_OFF)
          .filter(ofMembers::contains)
          .findFirst()
          .orElse(ReleaseOutcome.RELEASED);
    }
  }

  @Override
  public void close() {
    release();
  }

  @Override
  public <T> T callWhileHeld(Callable<T> work) throws Exception {
    return HeldCall.run(this, requireNonNull(work, "work"));
  }

  @Override
  public CompletableFuture<LeaseLostException> lost() {
    return state.observers.lost();
  }

  @Override
  public Subscription onEvent(Consumer<? super LockEvent> listener) {
    return state.onEvent(requireNonNull(listener, "listener"));
  }

  @Override
  public String toString() {
    return "MultiLease[" + name() + (isHeld() ? ", held]" : ", ended]");
  }
}
