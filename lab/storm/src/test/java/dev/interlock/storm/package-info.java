@NullMarked
package dev.interlock.storm;

import org.jspecify.annotations.NullMarked;
