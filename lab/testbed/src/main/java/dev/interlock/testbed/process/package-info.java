/** Processes of this machine and in containers, with what they occupy: directories and ports. */
@NullMarked
package dev.interlock.testbed.process;

import org.jspecify.annotations.NullMarked;
