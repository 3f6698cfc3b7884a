@NullMarked
package dev.interlock.redlock;

import org.jspecify.annotations.NullMarked;
