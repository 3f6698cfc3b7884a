/** Other JVMs that take part in a test, and can be stopped, continued and killed. */
@NullMarked
package dev.interlock.tck.process;

import org.jspecify.annotations.NullMarked;
