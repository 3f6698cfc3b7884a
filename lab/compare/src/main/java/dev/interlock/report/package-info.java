/**
 * What the comparison and the storm share: the stores that they run on, their progress, and the
 * forms in which they report.
 *
 * <p>{@link dev.interlock.report.Contender} says which backends take part; a backend gets its own
 * servers through a {@link dev.interlock.report.ServerSource}. {@link
 * dev.interlock.report.Template}, {@link dev.interlock.report.Json} and {@link
 * dev.interlock.report.Table} write what was found, and {@link
 * dev.interlock.report.ReportDirectory} keeps it.
 */
@NullMarked
package dev.interlock.report;

import org.jspecify.annotations.NullMarked;
