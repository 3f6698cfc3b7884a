/** Each command runs in its own process, as a user would run it. */
package dev.interlock.cli;
