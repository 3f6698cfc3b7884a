/** The code of {@code docs/recipes.md}. */
@NullMarked
package dev.interlock.recipes;

import org.jspecify.annotations.NullMarked;
