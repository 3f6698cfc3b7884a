package dev.interlock.cli;

import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.LockState.Holder;

/** How a holder holds a name. */
enum Mode {
  EXCLUSIVE,
  READ,
  WRITE,
  PERMITS;

  static Mode of(LockState lock, Holder holder) {
    LockKind kind = lock.kind().orElse(LockKind.EXCLUSIVE);
    return switch (kind) {
      case EXCLUSIVE -> EXCLUSIVE;
      case READ_WRITE -> holder.weight() == 1 ? READ : WRITE;
      case SEMAPHORE -> PERMITS;
    };
  }
}
