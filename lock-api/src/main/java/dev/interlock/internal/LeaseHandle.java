package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.DeferrableLease;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The program's lease of one name. */
class LeaseHandle extends ProgramLease implements DeferrableLease {

  private final LeaseState state;

  @SuppressWarnings("this-escape") // the state only refers to it
  LeaseHandle(LeaseState state) {
    this.state = state;
    state.setHandle(this);
  }

  @Override
  final Engine engine() {
    return state.engine();
  }

  @Override
  final List<LeaseState> members() {
    return List.of(state);
  }

  @Override
  final Duration remaining() {
    return state.remaining();
  }

  @Override
  final Observers observers() {
    return state.observers();
  }

  @Override
  public String name() {
    return state.name();
  }

  @Override
  public long fencingToken() {
    return tokenOf(state);
  }

  @Override
  public boolean isHeld() {
    return state.isHeld();
  }

  @Override
  public void ensureHeld() {
    state.ensureHeld();
  }

  @Override
  public ReleaseOutcome release() {
    StackRoom.require();
    return state.release(null);
  }

  @Override
  public ReleaseOutcome releaseAfter(Duration delay) {
    requireNonNull(delay, "delay");
    StackRoom.require();
    return state.releaseAfter(delay);
  }

  @Override
  public CompletableFuture<ReleaseOutcome> releaseAsync() {
    StackRoom.require();
    return new Release(state).start();
  }

  /**
   * Stops the renewal: the lease ends with its validity, although the program has not released it.
   */
  void abandon(String why) {
    state.abandon(why);
  }

  @Override
  public String toString() {
    return "Lease[" + name() + ", token " + state.token() + ", " + state.phase() + "]";
  }
}
