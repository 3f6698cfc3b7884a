/**
 * Histories of leases, and the decision whether they were exclusive and their tokens in order.
 *
 * <p>Threads and processes record the events of their leases as {@link
 * dev.interlock.tck.history.Event}s, each in a {@link dev.interlock.tck.process.Journal}; {@link
 * dev.interlock.tck.history.HistoryChecker} looks at all of them together.
 */
@NullMarked
package dev.interlock.tck.history;

import org.jspecify.annotations.NullMarked;
