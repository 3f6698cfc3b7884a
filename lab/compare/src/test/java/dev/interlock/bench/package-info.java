/** What can be tested of the measurements without servers. */
package dev.interlock.bench;
