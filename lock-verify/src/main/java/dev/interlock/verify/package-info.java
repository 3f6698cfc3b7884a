/** Runs the test suites of all modules side by side; what {@code ./verify} calls. */
@NullMarked
package dev.interlock.verify;

import org.jspecify.annotations.NullMarked;
