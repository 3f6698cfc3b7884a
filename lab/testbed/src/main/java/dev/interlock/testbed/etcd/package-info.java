/** etcd, alone and as a cluster. */
@NullMarked
package dev.interlock.testbed.etcd;

import org.jspecify.annotations.NullMarked;
