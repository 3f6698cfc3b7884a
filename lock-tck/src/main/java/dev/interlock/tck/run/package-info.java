/** Runs of the kit: the contract as data, the tests' selection, execution and results. */
@NullMarked
package dev.interlock.tck.run;

import org.jspecify.annotations.NullMarked;
