/** The faults of a storm: which there are, when each one comes, and how it is injected. */
@NullMarked
package dev.interlock.storm.nemesis;

import org.jspecify.annotations.NullMarked;
