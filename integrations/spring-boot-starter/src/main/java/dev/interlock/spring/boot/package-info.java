/**
 * Interlock in a Spring Boot application: the properties {@link
 * dev.interlock.spring.boot.InterlockProperties interlock.*} make a {@link
 * dev.interlock.LockClient} bean.
 */
@NullMarked
package dev.interlock.spring.boot;

import org.jspecify.annotations.NullMarked;
