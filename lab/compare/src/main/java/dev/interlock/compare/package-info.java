/**
 * What each backend costs and guarantees, measured side by side on one machine.
 *
 * <p>Start at {@link dev.interlock.compare.Comparison}. A backend takes part by being on the class
 * path; with a {@link dev.interlock.report.ServerSource} it gets its own server, with a {@link
 * dev.interlock.compare.baseline.BareDriver} it is compared with the least that its driver can do.
 */
@NullMarked
package dev.interlock.compare;

import org.jspecify.annotations.NullMarked;
