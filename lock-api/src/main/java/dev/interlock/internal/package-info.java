/**
 * The engine: what every backend shares. Not exported.
 *
 * <p>{@link dev.interlock.internal.Engine} is the client. An acquisition goes through {@link
 * dev.interlock.internal.LocalQueue} (one contender per name and client), {@link
 * dev.interlock.internal.AcquireLoop} (the attempts on the server) and ends as a {@link
 * dev.interlock.internal.LeaseState} (what the server granted, and the states that a lease goes
 * through), which a {@link dev.interlock.internal.LeaseHandle} shows to the user.
 */
@NullMarked
package dev.interlock.internal;

import org.jspecify.annotations.NullMarked;
