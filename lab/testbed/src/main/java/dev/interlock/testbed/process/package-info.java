/** Processes on this machine and in containers, with their directories and ports. */
@NullMarked
package dev.interlock.testbed.process;

import org.jspecify.annotations.NullMarked;
