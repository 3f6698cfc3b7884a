/**
 * The least that the driver of each store has to do for one exclusive entry: what locks are
 * compared with. Start at {@link dev.interlock.compare.baseline.BareDriver}.
 */
@NullMarked
package dev.interlock.compare.baseline;

import org.jspecify.annotations.NullMarked;
