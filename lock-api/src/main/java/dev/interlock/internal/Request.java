package dev.interlock.internal;

import dev.interlock.LockOptions;
import org.jspecify.annotations.Nullable;

/**
 * What one acquisition asks for.
 *
 * @param name the lock's name
 * @param options how to take and keep it
 * @param holder the label for {@code inspect}
 * @param keep whether to renew it even though the options do not ask for it, until told otherwise:
 *     for the members of a set that is being gathered
 * @param owner the thread with whose end the hold is abandoned, if the hold belongs to a thread
 */
record Request(
    String name, LockOptions options, String holder, boolean keep, @Nullable Thread owner) {

  boolean renews() {
    return keep || options.autoRenew();
  }

  /** Whether a turn that was acquired for the other request can go on under this one. */
  boolean sharesTurnWith(Request other) {
    return options.autoRenew()
        && other.options.autoRenew()
        && options.term().equals(other.options.term());
  }
}
