/**
 * Disposable real servers for tests, comparisons and demonstrations. They can be paused, killed and
 * restarted while clients use them.
 *
 * <p>Start at {@link dev.interlock.testbed.Testbed}.
 */
@NullMarked
package dev.interlock.testbed;

import org.jspecify.annotations.NullMarked;
