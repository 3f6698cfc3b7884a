/**
 * Two correct backends over one Redis, one plain and one with a queue, as a third party might write
 * them, and many wrong ones. The kit must refuse each wrong one because of its fault.
 */
@NullMarked
package dev.interlock.custom;

import org.jspecify.annotations.NullMarked;
