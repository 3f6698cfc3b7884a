/**
 * The compatibility kit: the lock contract as tests that any backend can run.
 *
 * <p>{@link dev.interlock.tck.LockTck} is the class to extend, {@link dev.interlock.tck.Harness}
 * gives the kit access to a store, and {@link dev.interlock.tck.Contract} is the list of rules.
 */
@NullMarked
package dev.interlock.tck;

import org.jspecify.annotations.NullMarked;
