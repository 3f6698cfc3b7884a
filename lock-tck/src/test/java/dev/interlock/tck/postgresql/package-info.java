/**
 * The backend that {@code docs/writing-a-backend.md} builds, on a store that Interlock does not
 * ship: exactly what a third party would write.
 */
@NullMarked
package dev.interlock.tck.postgresql;

import org.jspecify.annotations.NullMarked;
