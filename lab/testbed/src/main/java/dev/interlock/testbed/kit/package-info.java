/**
 * The testbed's servers as the kit wants to see them: {@link dev.interlock.tck.Server}s that it can
 * stop, look into and take permissions from. The one package that knows the kit; of locks it knows
 * only what it is told about their keys.
 */
@NullMarked
package dev.interlock.testbed.kit;

import org.jspecify.annotations.NullMarked;
