/** Locks on relational databases, and a check of fencing tokens for what they store. */
@NullMarked
package dev.interlock.jdbc;

import org.jspecify.annotations.NullMarked;
