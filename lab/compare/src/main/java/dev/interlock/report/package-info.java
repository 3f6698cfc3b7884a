/**
 * The parts that the comparison and the storm share: the stores that they run on, their progress,
 * and their reports.
 *
 * <p>{@link dev.interlock.report.Contender} describes a backend that takes part; its servers come
 * from a {@link dev.interlock.report.ServerProvider}. {@link dev.interlock.report.Template}, {@link
 * dev.interlock.report.Json} and {@link dev.interlock.report.Table} render the results, and {@link
 * dev.interlock.report.ReportDirectory} is where they are written.
 */
@NullMarked
package dev.interlock.report;

import org.jspecify.annotations.NullMarked;
