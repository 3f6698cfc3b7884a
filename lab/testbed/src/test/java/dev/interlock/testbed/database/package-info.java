@NullMarked
package dev.interlock.testbed.database;

import org.jspecify.annotations.NullMarked;
