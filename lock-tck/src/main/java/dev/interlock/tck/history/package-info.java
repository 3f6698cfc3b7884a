/**
 * Histories of leases, and the decision whether they were exclusive and their tokens in order.
 *
 * <p>Threads and processes record what happened to their leases as {@link
 * dev.interlock.tck.history.Event}s, each in an {@link dev.interlock.tck.history.EventLog}; {@link
 * dev.interlock.tck.history.HistoryChecker} looks at all of them together.
 */
@NullMarked
package dev.interlock.tck.history;

import org.jspecify.annotations.NullMarked;
