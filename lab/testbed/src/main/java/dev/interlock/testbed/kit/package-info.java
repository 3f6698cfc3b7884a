/**
 * The testbed's servers as {@link dev.interlock.tck.Server}s, which the kit can stop and inspect,
 * and whose permissions it can take away. No other package of the testbed uses the kit. The package
 * gets all knowledge of a backend's keys from its callers.
 */
@NullMarked
package dev.interlock.testbed.kit;

import org.jspecify.annotations.NullMarked;
