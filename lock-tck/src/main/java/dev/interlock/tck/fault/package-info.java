/**
 * Faults between a client and its server: a TCP proxy that cuts and resets connections, and drops,
 * holds back and delays bytes. It counts the faults that take effect.
 */
@NullMarked
package dev.interlock.tck.fault;

import org.jspecify.annotations.NullMarked;
