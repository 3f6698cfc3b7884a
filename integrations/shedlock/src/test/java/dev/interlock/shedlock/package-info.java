@NullMarked
package dev.interlock.shedlock;

import org.jspecify.annotations.NullMarked;
