/** Locks on relational databases, and fencing of the data in them. */
@NullMarked
package dev.interlock.jdbc;

import org.jspecify.annotations.NullMarked;
