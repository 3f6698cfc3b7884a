/** What happened in a world, and the checks whether that is allowed. */
@NullMarked
package dev.interlock.simulation.oracle;

import org.jspecify.annotations.NullMarked;
