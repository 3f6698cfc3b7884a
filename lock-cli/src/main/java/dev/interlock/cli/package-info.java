/** The {@code interlock} command. It depends on no backend; all are found at run time. */
@NullMarked
package dev.interlock.cli;

import org.jspecify.annotations.NullMarked;
