/**
 * The compatibility kit: the lock contract as tests that any backend can run.
 *
 * <p>{@link dev.interlock.tck.LockTck} is the class to extend, and {@link
 * dev.interlock.tck.Harness} gives the kit access to a store.
 */
@NullMarked
package dev.interlock.tck;

import org.jspecify.annotations.NullMarked;
