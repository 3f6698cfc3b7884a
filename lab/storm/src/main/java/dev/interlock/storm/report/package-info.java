/** The report on storms: text for a terminal, Markdown, JSON, and an HTML page with time lines. */
@NullMarked
package dev.interlock.storm.report;

import org.jspecify.annotations.NullMarked;
