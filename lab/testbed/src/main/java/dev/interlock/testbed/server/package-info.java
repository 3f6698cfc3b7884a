/** The common parts of servers of all kinds. */
@NullMarked
package dev.interlock.testbed.server;

import org.jspecify.annotations.NullMarked;
