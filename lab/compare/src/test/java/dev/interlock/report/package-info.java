/** The forms of the reports. */
package dev.interlock.report;
