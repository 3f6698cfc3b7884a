/** The verdict on a storm: the history that its clients recorded, and the rules that it breaks. */
@NullMarked
package dev.interlock.storm.verdict;

import org.jspecify.annotations.NullMarked;
