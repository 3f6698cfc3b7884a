/** Selects the sample of tests that a default run of a commit runs. */
@NullMarked
package dev.interlock.tck.sample;

import org.jspecify.annotations.NullMarked;
