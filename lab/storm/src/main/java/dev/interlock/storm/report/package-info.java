/** The report on storms: for a terminal, as Markdown, as JSON, and as a page with time lines. */
@NullMarked
package dev.interlock.storm.report;

import org.jspecify.annotations.NullMarked;
