@NullMarked
package dev.interlock.testbed.redis;

import org.jspecify.annotations.NullMarked;
