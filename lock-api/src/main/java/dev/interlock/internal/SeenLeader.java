package dev.interlock.internal;

import dev.interlock.LeaderElection;
import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.spi.Share;
import java.util.Optional;
import java.util.OptionalLong;

/** A leader as the store shows it. Two are equal if their labels and tokens are. */
record SeenLeader(Optional<String> label, OptionalLong fencingToken)
    implements LeaderElection.Leader {

  /**
   * Returns the leader in the state of the election's lock, whose token is that of a lease.
   *
   * @throws dev.interlock.LockConfigurationException if the name is in use for another kind of lock
   */
  static Optional<LeaderElection.Leader> from(LockState state) {
    switch (state.kind().orElse(LockKind.EXCLUSIVE)) {
      case READ_WRITE -> throw Share.EXCLUSIVE.disagreement(state.name(), Share.READ);
      case SEMAPHORE ->
          throw Share.EXCLUSIVE.disagreement(
              state.name(), Share.ofSemaphore(1, state.limit().orElseThrow()));
      case EXCLUSIVE -> {}
    }
    return state.holders().stream()
        .findFirst()
        .map(holder -> new SeenLeader(holder.label(), holder.fencingToken()));
  }
}
