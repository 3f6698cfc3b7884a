/** What servers need that run in a JVM of their own. Nothing here is for callers. */
@NullMarked
package dev.interlock.testbed.child;

import org.jspecify.annotations.NullMarked;
