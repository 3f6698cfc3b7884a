@NullMarked
package dev.interlock.storm.workers;

import org.jspecify.annotations.NullMarked;
