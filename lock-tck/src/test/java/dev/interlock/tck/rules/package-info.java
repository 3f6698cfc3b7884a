/** Tests of the tasks that rules run in other JVMs. */
@NullMarked
package dev.interlock.tck.rules;

import org.jspecify.annotations.NullMarked;
