/** For tests of code that uses Interlock: a store that fails on demand, and a clock set by hand. */
@NullMarked
package dev.interlock.testing;

import org.jspecify.annotations.NullMarked;
