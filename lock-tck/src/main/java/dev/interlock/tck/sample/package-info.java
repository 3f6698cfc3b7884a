/** The part of the tests that one commit runs by default. */
@NullMarked
package dev.interlock.tck.sample;

import org.jspecify.annotations.NullMarked;
