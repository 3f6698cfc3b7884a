/** What servers of all kinds have in common. */
@NullMarked
package dev.interlock.testbed.server;

import org.jspecify.annotations.NullMarked;
