/** Benchmarks of the engine alone, and runs that show leaks. */
@NullMarked
package dev.interlock.bench;

import org.jspecify.annotations.NullMarked;
