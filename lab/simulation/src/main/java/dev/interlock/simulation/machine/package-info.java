/** Time, threads and the machines of clients. */
@NullMarked
package dev.interlock.simulation.machine;

import org.jspecify.annotations.NullMarked;
