/**
 * The backend that {@code docs/writing-a-backend.md} builds: as little as a backend needs, and
 * exactly what a third party would write. {@code dev.interlock.jdbc} is the one to use.
 */
@NullMarked
package dev.interlock.tutorial;

import org.jspecify.annotations.NullMarked;
