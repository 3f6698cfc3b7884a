/** The results of a run of the kit, and the forms in which they are written. */
@NullMarked
package dev.interlock.tck.report;

import org.jspecify.annotations.NullMarked;
