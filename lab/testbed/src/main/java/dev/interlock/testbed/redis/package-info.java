/** Redis alone, as a cluster, with sentinels, and as independent nodes for Redlock. */
@NullMarked
package dev.interlock.testbed.redis;

import org.jspecify.annotations.NullMarked;
