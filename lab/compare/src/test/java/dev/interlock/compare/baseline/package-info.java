/** Tests that the bare drivers leave nothing on the store. */
@org.jspecify.annotations.NullMarked
package dev.interlock.compare.baseline;
