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
 * The places in the program where leases were acquired, for the warning about an abandoned lease.
 *
 * <p>Walking the stack costs more than the rest of an uncontended acquisition inside this process,
 * and it cannot be done later. So the client records the first acquisitions of a name and, like
 * Netty's leak detector, a random sample of the later ones. Once a lease of a name was abandoned,
 * it records all acquisitions of that name.
 *
 * <p>Names are counted by hash, so that memory does not grow with their number. Names that share a
 * counter are sampled less often, unless a lease of one of them was abandoned.
 */
final class CallSites {

  /** The number of acquisitions of a name that are all recorded, before sampling begins. */
  static final int RECORDED_AT_FIRST = 16;

  /** One in this many acquisitions is recorded when sampling. */
  static final int SAMPLING_INTERVAL = 32;

  private static final int ALWAYS = -1;
  private static final int COUNTERS = 1024;

  /** The stack walker fetches this many frames at once, enough to include the program's. */
  private static final int FRAMES_PER_BATCH = 8;

  private static final StackWalker WALKER = StackWalker.getInstance(Set.of(), FRAMES_PER_BATCH);
  private static final String ENGINE_PACKAGE = CallSites.class.getPackageName() + ".";

  private final Platform platform;
  private final AtomicIntegerArray counts = new AtomicIntegerArray(COUNTERS);

  /**
   * The sites of leases that may be held, so that leases acquired at the same place share one
   * object.
   */
  @GuardedBy("this")
  private final Map<StackTraceElement, WeakReference<StackTraceElement>> sharedSites =
      new WeakHashMap<>();

  CallSites(Platform platform) {
    this.platform = platform;
  }

  /**
   * Returns the call site that is acquiring the name, or null if this acquisition is not sampled.
   */
  @Nullable Object sample(String name) {
    if (!isDue(place(name))) {
      return null;
    }
    StackFrame site = find();
    return site == null ? null : shared(site.toStackTraceElement());
  }

  private synchronized StackTraceElement shared(StackTraceElement site) {
    WeakReference<StackTraceElement> reference = sharedSites.get(site);
    StackTraceElement existing = reference == null ? null : reference.get();
    if (existing == null) {
      sharedSites.put(site, new WeakReference<>(site));
      return site;
    }
    return existing;
  }

  private boolean isDue(int place) {
    int count = counts.getPlain(place);
    if (count >= RECORDED_AT_FIRST) {
      return platform.random(SAMPLING_INTERVAL) == 0;
    }
    if (count >= 0) {
      // If another thread counts at the same time, this acquisition is not counted, but recorded.
      counts.weakCompareAndSetPlain(place, count, count + 1);
    }
    return true;
  }

  /** Records every acquisition of this name from now on. */
  void recordAll(String name) {
    counts.set(place(name), ALWAYS);
  }

  private static int place(String name) {
    int hash = name.hashCode();
    return (hash ^ (hash >>> 16)) & (COUNTERS - 1);
  }

  /** Returns the innermost frame outside the engine, rendered only when printed. */
  static @Nullable StackFrame find() {
    return WALKER.walk(frames -> frames.filter(CallSites::isOfProgram).findFirst()).orElse(null);
  }

  private static boolean isOfProgram(StackFrame frame) {
    return !frame.getClassName().startsWith(ENGINE_PACKAGE);
  }
}
