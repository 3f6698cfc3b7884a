@NullMarked
package dev.interlock.etcd;

import org.jspecify.annotations.NullMarked;
