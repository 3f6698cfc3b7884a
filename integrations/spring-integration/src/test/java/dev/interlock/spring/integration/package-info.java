@NullMarked
package dev.interlock.spring.integration;

import org.jspecify.annotations.NullMarked;
