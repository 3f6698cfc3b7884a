/** The operations and faults of a world, and the programs that perform them. */
@NullMarked
package dev.interlock.simulation.workload;

import org.jspecify.annotations.NullMarked;
