/** Tests of the reports. */
package dev.interlock.report;
