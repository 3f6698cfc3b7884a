/** ZooKeeper, alone and as an ensemble. */
@NullMarked
package dev.interlock.testbed.zookeeper;

import org.jspecify.annotations.NullMarked;
