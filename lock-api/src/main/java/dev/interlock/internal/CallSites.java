package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.lang.StackWalker.StackFrame;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicIntegerArray;
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

  /** As many frames as are looked at together: that of the program is one of them. */
  private static final int FRAMES = 8;

  private static final StackWalker WALKER = StackWalker.getInstance(Set.of(), FRAMES);
  private static final String OURS = CallSites.class.getPackageName() + ".";

  private final Platform platform;
  private final AtomicIntegerArray counts = new AtomicIntegerArray(COUNTS);

  /** Those of leases that may be held, so that many leases acquired at one place share it. */
  @GuardedBy("this")
  private final Map<StackTraceElement, WeakReference<StackTraceElement>> known =
      new WeakHashMap<>();

  CallSites(Platform platform) {
    this.platform = platform;
  }

  /** The call site that is acquiring the name, or null if it is not recorded. */
  @Nullable Object current(String name) {
    if (!isDue(place(name))) {
      return null;
    }
    StackFrame site = look();
    return site == null ? null : shared(site.toStackTraceElement());
  }

  private synchronized StackTraceElement shared(StackTraceElement site) {
    WeakReference<StackTraceElement> reference = known.get(site);
    StackTraceElement other = reference == null ? null : reference.get();
    if (other == null) {
      known.put(site, new WeakReference<>(site));
      return site;
    }
    return other;
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
    return WALKER.walk(frames -> frames.filter(CallSites::isOfProgram).findFirst()).orElse(null);
  }

  private static boolean isOfProgram(StackFrame frame) {
    return !frame.getClassName().startsWith(OURS);
  }
}
