@NullMarked
package dev.interlock.testbed.process;

import org.jspecify.annotations.NullMarked;
