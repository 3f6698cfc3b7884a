@NullMarked
package dev.interlock.storm.verdict;

import org.jspecify.annotations.NullMarked;
