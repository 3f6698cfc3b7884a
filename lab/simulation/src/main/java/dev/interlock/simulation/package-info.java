/**
 * Worlds in which one seed decides everything: which thread runs next, how long a message takes,
 * which faults occur and when. The client runs in a world unchanged, on the world's own {@link
 * dev.interlock.internal.Platform} and in front of model stores. A day of locking takes a minute,
 * and every failure can be repeated.
 *
 * <p>Start at {@link dev.interlock.simulation.World}.
 */
@NullMarked
package dev.interlock.simulation;

import org.jspecify.annotations.NullMarked;
