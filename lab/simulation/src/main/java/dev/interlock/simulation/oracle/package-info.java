/** The journal of a world, and the checks of what it records. */
@NullMarked
package dev.interlock.simulation.oracle;

import org.jspecify.annotations.NullMarked;
