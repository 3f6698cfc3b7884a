@NullMarked
package dev.interlock.tck.process;

import org.jspecify.annotations.NullMarked;
