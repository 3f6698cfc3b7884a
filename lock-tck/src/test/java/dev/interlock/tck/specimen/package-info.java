/** Mutants of the in-memory reference: each has one fault, and the kit refuses it for that. */
@NullMarked
package dev.interlock.tck.specimen;

import org.jspecify.annotations.NullMarked;
