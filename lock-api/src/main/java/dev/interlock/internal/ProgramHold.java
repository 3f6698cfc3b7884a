package dev.interlock.internal;

import java.lang.ref.Reference;
import org.jspecify.annotations.Nullable;

/**
 * The hold of the program on a lease: through a handle, which may become unreachable, and sometimes
 * by a thread, which may end. In both cases the program has abandoned the lease.
 */
final class ProgramHold {

  private final @Nullable Thread owner;
  private volatile @Nullable Reference<Object> handle;

  /** The call site that acquired the lease; null if it was not recorded. */
  private volatile @Nullable Object callSite;

  ProgramHold(@Nullable Thread owner) {
    this.owner = owner;
  }

  void setHandle(Reference<Object> weak) {
    handle = weak;
  }

  void setCallSite(@Nullable Object site) {
    callSite = site;
  }

  /** Returns the reason why the lease cannot be released any more; null if it can. */
  @Nullable String whyAbandoned() {
    if (owner != null && !owner.isAlive()) {
      return "its thread ended while holding it";
    }
    Reference<Object> current = handle;
    return current != null && current.get() == null ? "nothing refers to it any more" : null;
  }

  /** Queues a warning, and records all call sites of the name from now on. */
  void reportAbandoned(Engine engine, String name, String why) {
    engine.callSites.recordAll(name);
    Object site = callSite;
    engine.leaseLog.enqueue(
        () ->
            Engine.log.warn(
                "the lease of \"{}\" was never released and is no longer renewed: {} (acquired at {})",
                name,
                why,
                site == null
                    ? "a call site that was not recorded; those of this name are from now on"
                    : site));
  }
}
