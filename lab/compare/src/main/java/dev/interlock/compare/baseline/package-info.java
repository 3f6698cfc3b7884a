/**
 * The baselines with which locks are compared: the minimum that the driver of each store has to do
 * for one exclusive entry. Start at {@link dev.interlock.compare.baseline.BareDriver}.
 */
@NullMarked
package dev.interlock.compare.baseline;

import org.jspecify.annotations.NullMarked;
