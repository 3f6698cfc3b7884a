/** Benchmarks of the engine alone, and runs that show whether anything grows. */
@NullMarked
package dev.interlock.bench;

import org.jspecify.annotations.NullMarked;
