/** The verdict on a storm: what its clients recorded, and the rules that this breaks. */
@NullMarked
package dev.interlock.storm.verdict;

import org.jspecify.annotations.NullMarked;
