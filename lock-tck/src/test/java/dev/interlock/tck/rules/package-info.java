/** What the rules' tests find out in other JVMs. */
@NullMarked
package dev.interlock.tck.rules;

import org.jspecify.annotations.NullMarked;
