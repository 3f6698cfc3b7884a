@NullMarked
package dev.interlock.recipes;

import org.jspecify.annotations.NullMarked;
