/**
 * The {@code memory:} backend: exact, fair, inside one JVM. The reference implementation of the
 * contract, and the backend for the tests of applications.
 */
@NullMarked
package dev.interlock.memory;

import org.jspecify.annotations.NullMarked;
