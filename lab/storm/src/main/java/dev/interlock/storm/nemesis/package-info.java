/** The faults of a storm, their schedule, and their injection. */
@NullMarked
package dev.interlock.storm.nemesis;

import org.jspecify.annotations.NullMarked;
