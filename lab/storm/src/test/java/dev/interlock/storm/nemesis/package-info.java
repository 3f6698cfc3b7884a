@NullMarked
package dev.interlock.storm.nemesis;

import org.jspecify.annotations.NullMarked;
