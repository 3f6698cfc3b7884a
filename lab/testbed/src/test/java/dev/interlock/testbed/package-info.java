@NullMarked
package dev.interlock.testbed;

import org.jspecify.annotations.NullMarked;
