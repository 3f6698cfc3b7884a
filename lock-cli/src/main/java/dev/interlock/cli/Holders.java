package dev.interlock.cli;

import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.LockState.Holder;
import dev.interlock.LockState.Mode;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;

/** Formats the holders of a lock for people. */
final class Holders {
  private static final int MAX_NAMED_HOLDERS = 3;

  private static final List<String> HEADINGS =
      List.of("HELD AS", "TOKEN", "REMAINING", "HELD SINCE", "HELD BY");

  private Holders() {}

  /** {@return the headings of the columns of {@link #row}} */
  static List<String> headings() {
    return HEADINGS;
  }

  static List<String> row(LockState lock, Holder holder) {
    return List.of(
        heldAs(lock, holder),
        holder.fencingToken().isPresent() ? "" + holder.fencingToken().getAsLong() : "-",
        holder.remaining().map(Text::of).orElse("-"),
        holder.heldSince().map(Instant::toString).orElse("-"),
        holder.label().map(Text::printable).orElse("-"));
  }

  private static String heldAs(LockState lock, Holder holder) {
    return switch (holder.mode()) {
      case EXCLUSIVE -> "exclusive";
      case READ -> "reader";
      case WRITE -> "writer";
      case PERMITS -> permits(holder) + "/" + lock.limit().orElseThrow() + " permits";
    };
  }

  private static int permits(Holder holder) {
    return holder.permits().orElseThrow();
  }

  /** {@return the kind of lock that a name is used as, and how much of it is taken} */
  static String use(LockState lock) {
    LockKind kind = lock.kind().orElse(LockKind.EXCLUSIVE);
    return switch (kind) {
      case EXCLUSIVE -> "exclusive lock";
      case READ_WRITE -> {
        boolean writer = lock.holders().stream().anyMatch(holder -> holder.mode() == Mode.WRITE);
        int readers = lock.holders().size();
        yield "read-write lock, "
            + (writer ? "1 writer" : readers + (readers == 1 ? " reader" : " readers"));
      }
      case SEMAPHORE -> {
        long taken = lock.holders().stream().mapToLong(Holders::permits).sum();
        yield "semaphore, " + taken + " of " + lock.limit().orElseThrow() + " permits taken";
      }
    };
  }

  /** {@return the labels of the first holders in one line; empty if none is known} */
  static String labels(LockState lock) {
    List<String> labels =
        lock.holders().stream().flatMap(holder -> holder.label().stream()).toList();
    return labels.stream()
            .limit(MAX_NAMED_HOLDERS)
            .map(Text::printable)
            .collect(Collectors.joining(", "))
        + (labels.size() > MAX_NAMED_HOLDERS
            ? " and " + (labels.size() - MAX_NAMED_HOLDERS) + " more"
            : "");
  }
}
