/**
 * Metrics and observations of lock clients, by Micrometer: {@link
 * dev.interlock.micrometer.LockMetrics} and {@link dev.interlock.micrometer.ObservedLocks}.
 */
@NullMarked
package dev.interlock.micrometer;

import org.jspecify.annotations.NullMarked;
