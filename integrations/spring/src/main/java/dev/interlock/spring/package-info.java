/**
 * Locks around methods of Spring beans: {@link dev.interlock.spring.Locked} names the lock, {@link
 * dev.interlock.spring.EnableLocked} enables it, {@link dev.interlock.spring.CurrentLease} is the
 * lease inside the method.
 */
@NullMarked
package dev.interlock.spring;

import org.jspecify.annotations.NullMarked;
