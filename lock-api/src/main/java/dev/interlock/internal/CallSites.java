package dev.interlock.internal;

import java.lang.StackWalker.StackFrame;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.util.Set;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Where in the user's program leases were acquired, for the warning about a forgotten one.
 *
 * <p>Walking the stack costs more than everything else that an uncontended acquisition does inside
 * this process, and cannot be done later. So the client records the first acquisitions of a name
 * and, at random, a share of the later ones, as Netty's leak detector does; and all acquisitions of
 * a name once a lease of it has been forgotten.
 *
 * <p>Names are counted by their hash, so that the memory used here does not grow with their number.
 * Names that share a count are recorded less often, unless a lease of one has been forgotten.
 */
final class CallSites {

  /** How many acquisitions of a name are recorded before only a share of them is. */
  static final int FIRST = 16;

  /** One in how many is recorded then. */
  static final int SHARE = 32;

  private static final int ALL = -1;
  private static final int COUNTS = 1024;
  private static final int KNOWN = 64;

  /** As many frames as are looked at together: that of the program is one of them. */
  private static final int FRAMES = 8;

  private static final StackWalker WALKER = StackWalker.getInstance(Set.of(), FRAMES);
  private static final String OURS = CallSites.class.getPackageName() + ".";

  private final Platform platform;
  private final AtomicIntegerArray counts = new AtomicIntegerArray(COUNTS);

  /** Those of leases that may be held, so that many leases acquired at one place share it. */
  private final AtomicReferenceArray<@Nullable Reference<StackFrame>> known =
      new AtomicReferenceArray<>(KNOWN);

  CallSites(Platform platform) {
    this.platform = platform;
  }

  /** The call site that is acquiring the name, or null if it is not recorded. */
  @Nullable Object current(String name) {
    if (!isDue(place(name))) {
      return null;
    }
    StackFrame site = WALKER.walk(CallSites::innermost);
    return site == null ? null : shared(site);
  }

  private StackFrame shared(StackFrame site) {
    int place = (site.getClassName().hashCode() + site.getByteCodeIndex()) & (KNOWN - 1);
    Reference<StackFrame> former = known.get(place);
    StackFrame same = former == null ? null : former.get();
    if (same != null && isSame(same, site)) {
      return same;
    }
    known.set(place, new WeakReference<>(site));
    return site;
  }

  // Not by descriptors: on JDK 25 a frame refuses them unless the walker retains classes.
  private static boolean isSame(StackFrame one, StackFrame other) {
    return one.getByteCodeIndex() == other.getByteCodeIndex()
        && one.getClassName().equals(other.getClassName())
        && one.getMethodName().equals(other.getMethodName())
        && one.getLineNumber() == other.getLineNumber();
  }

  private boolean isDue(int place) {
    int count = counts.getPlain(place);
    if (count >= FIRST) {
      return platform.random(SHARE) == 0;
    }
    if (count >= 0) {
      // An acquisition that is not counted, because another thread counts too, is recorded anyway.
      counts.weakCompareAndSetPlain(place, count, count + 1);
    }
    return true;
  }

  /** From now on every acquisition of this name is recorded. */
  void rememberAll(String name) {
    counts.set(place(name), ALL);
  }

  private static int place(String name) {
    int hash = name.hashCode();
    return (hash ^ (hash >>> 16)) & (COUNTS - 1);
  }

  /** The innermost frame on the stack outside the engine, rendered only when printed. */
  static @Nullable StackFrame look() {
    return WALKER.walk(CallSites::innermost);
  }

  private static @Nullable StackFrame innermost(Stream<StackFrame> frames) {
    return frames.filter(frame -> !frame.getClassName().startsWith(OURS)).findFirst().orElse(null);
  }
}
