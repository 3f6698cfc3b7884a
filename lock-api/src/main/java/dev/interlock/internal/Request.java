package dev.interlock.internal;

import dev.interlock.LockOptions;
import org.jspecify.annotations.Nullable;

/**
 * What one acquisition asks for.
 *
 * @param name the lock's name
 * @param options how to take and keep it
 * @param holder the label for {@code inspect}
 * @param ofSet whether it is a member of a set, which is renewed until that is complete, whatever
 *     the options say
 * @param owner the thread with whose end the hold is abandoned, if the hold belongs to a thread
 */
record Request(
    String name, LockOptions options, String holder, boolean ofSet, @Nullable Thread owner) {

  /** Whether what was granted for the other request can be handed over to this one. */
  boolean sharesGrantWith(Request other) {
    return options.autoRenew()
        && other.options.autoRenew()
        && options.term().equals(other.options.term());
  }
}
