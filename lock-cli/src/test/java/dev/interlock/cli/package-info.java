/** Everything runs in processes of its own, as a user would run it. */
package dev.interlock.cli;
