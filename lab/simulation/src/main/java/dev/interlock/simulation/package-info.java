/**
 * A world in which one seed decides everything: which thread runs next, how long a message takes,
 * what breaks and when. The client runs in it unchanged, on a {@link
 * dev.interlock.internal.Platform} of the world's own, in front of model stores; so a day of
 * locking takes a minute, and every failure can be repeated.
 *
 * <p>Start at {@link dev.interlock.simulation.World}.
 */
@NullMarked
package dev.interlock.simulation;

import org.jspecify.annotations.NullMarked;
