/** Backends of third parties, for the user to put on the class path. */
package dev.interlock.cli.extra;
