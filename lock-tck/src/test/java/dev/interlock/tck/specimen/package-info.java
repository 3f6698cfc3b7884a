/** Mutants of the in-memory reference: each has one fault, and is refused for it. */
@NullMarked
package dev.interlock.tck.specimen;

import org.jspecify.annotations.NullMarked;
