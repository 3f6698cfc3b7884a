@NullMarked
package dev.interlock.jdbc;

import org.jspecify.annotations.NullMarked;
