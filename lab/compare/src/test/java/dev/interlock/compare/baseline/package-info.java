/** What the bare drivers do to the stores of others. */
@org.jspecify.annotations.NullMarked
package dev.interlock.compare.baseline;
