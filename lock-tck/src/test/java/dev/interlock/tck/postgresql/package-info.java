/**
 * A backend on a store that Interlock does not ship, as {@code docs/writing-a-backend.md} builds
 * it: what a third party writes, and nothing more.
 */
@NullMarked
package dev.interlock.tck.postgresql;

import org.jspecify.annotations.NullMarked;
