@NullMarked
package dev.interlock.testbed.etcd;

import org.jspecify.annotations.NullMarked;
