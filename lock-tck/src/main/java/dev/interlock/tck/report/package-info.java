/** What a run of the kit found, and how it is written down. */
@NullMarked
package dev.interlock.tck.report;

import org.jspecify.annotations.NullMarked;
