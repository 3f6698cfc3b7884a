@NullMarked
package dev.interlock.redis;

import org.jspecify.annotations.NullMarked;
