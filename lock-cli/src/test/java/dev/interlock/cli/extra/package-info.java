/** Backends of somebody else's, to be put on the class path by the user. */
package dev.interlock.cli.extra;
