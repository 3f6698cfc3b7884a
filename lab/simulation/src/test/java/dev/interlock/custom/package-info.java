/**
 * Two right backends over one Redis as somebody outside this project might write them, one plain
 * and one with a queue, and many wrong ones: the kit has to refuse each for what is wrong with it.
 */
@NullMarked
package dev.interlock.custom;

import org.jspecify.annotations.NullMarked;
