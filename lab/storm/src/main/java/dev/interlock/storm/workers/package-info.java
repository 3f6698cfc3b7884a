/** The clients of a storm: threads and processes that use locks and record what they see. */
@NullMarked
package dev.interlock.storm.workers;

import org.jspecify.annotations.NullMarked;
