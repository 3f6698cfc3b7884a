/**
 * The {@code memory:} backend: exact, fair, inside one JVM. The reference implementation of the
 * contract, and the default for users' own tests.
 */
@NullMarked
package dev.interlock.memory;

import org.jspecify.annotations.NullMarked;
