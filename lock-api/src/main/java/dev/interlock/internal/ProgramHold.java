package dev.interlock.internal;

import java.lang.ref.Reference;
import org.jspecify.annotations.Nullable;

/**
 * How the program holds a lease: through a handle, which it may drop, and sometimes by a thread,
 * which may end. Either way the lease will not be released.
 */
final class ProgramHold {

  private final @Nullable Thread owner;
  private volatile @Nullable Reference<Object> handle;

  /** The call site that acquired the lease; null if that was not recorded. */
  private volatile @Nullable Object site;

  ProgramHold(@Nullable Thread owner) {
    this.owner = owner;
  }

  void through(Reference<Object> weak) {
    handle = weak;
  }

  void site(@Nullable Object place) {
    site = place;
  }

  /** Returns why the lease will not be released; null if it still may be. */
  @Nullable String whyDropped() {
    if (owner != null && !owner.isAlive()) {
      return "its thread ended while holding it";
    }
    Reference<Object> held = handle;
    return held != null && held.get() == null ? "nothing refers to it any more" : null;
  }

  /** Warns with the notifier's next flush, and records all call sites of the name from now on. */
  void noteDropped(Engine engine, String name, String why) {
    engine.callSites.rememberAll(name);
    Object place = site;
    engine.leaseLog.note(
        () ->
            Engine.log.warn(
                "lease of \"{}\" was never released and is no longer renewed: {} (acquired at {})",
                name,
                why,
                place == null
                    ? "a call site that was not recorded; it will be from now on"
                    : place));
  }
}
