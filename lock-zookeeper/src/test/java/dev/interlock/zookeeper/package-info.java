@NullMarked
package dev.interlock.zookeeper;

import org.jspecify.annotations.NullMarked;
