/** A lock registry for Spring Integration over Interlock. */
@NullMarked
package dev.interlock.spring.integration;

import org.jspecify.annotations.NullMarked;
