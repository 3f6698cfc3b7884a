/**
 * The {@code memory:} backend, which keeps locks inside one JVM and serves waiters in order. It is
 * the reference implementation of the contract, and the backend for the tests of applications.
 */
@NullMarked
package dev.interlock.memory;

import org.jspecify.annotations.NullMarked;
