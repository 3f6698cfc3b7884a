/**
 * Faults between a client and its server: a TCP proxy that cuts, resets, swallows, holds back and
 * delays what travels through it, and proves that it did.
 */
@NullMarked
package dev.interlock.tck.fault;

import org.jspecify.annotations.NullMarked;
