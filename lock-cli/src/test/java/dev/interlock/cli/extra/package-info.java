/** Third-party backends that a user puts on the class path. */
package dev.interlock.cli.extra;
