@NullMarked
package dev.interlock.testbed.server;

import org.jspecify.annotations.NullMarked;
